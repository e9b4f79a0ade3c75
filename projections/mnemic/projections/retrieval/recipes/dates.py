"""Dates in a question, and the closeness of texts to them.

Months by name (a lower-case "may" is a verb), with a day before or after; years; ISO dates. In
questions in other languages that have a table (``kernel.months``) the names are those of the
language; a date in digits, 7.5.2023, begins with the day, and 5月7日 is one in any question.
A text scores 1 on the exact day, .75 within a week of it in the same month, .5 in the month, and
.3 in the year if only that was named. If a year is named too, a text of another year
gets .3 of that. Without a date in the question the closeness is 0.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mnemic.kernel.late import late_pattern
from mnemic.kernel.months import MONTHS
from mnemic.kernel.numeric.arithmetic import NANO
from mnemic.kernel.scoring.signals import UNKNOWN

Ints = NDArray[np.int64]

SAME_DAY: Final = NANO
SAME_WEEK: Final = 750_000_000
SAME_MONTH: Final = 500_000_000
SAME_YEAR: Final = 300_000_000
OTHER_YEAR: Final = 3
"""Tenths of the closeness that remain in another year than the one named."""
WEEK_DAYS: Final = 7

YEARS_MAX: Final = 64
"""Maximum number of years whose months are matched one by one."""

_MONTHS: Final = tuple(map(str, "jan feb mar apr may jun jul aug sep oct nov dec".split()))
_MONTH: Final = late_pattern(
    r"(?:\b(?P<before>\d{1,2})(?:st|nd|rd|th)?(?:\s+of)?\s+)?"
    r"\b(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sep(?:t(?:ember)?)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b",
    re.IGNORECASE,
)
_DAY_BEHIND: Final = late_pattern(r"\.?\s+(\d{1,2})(?:st|nd|rd|th)?\b", re.IGNORECASE)
_YEAR: Final = late_pattern(r"\b(?:19|20)\d\d\b")
_ISO: Final = late_pattern(r"\b((?:19|20)\d\d)-(\d{2})-(\d{2})\b")
_DAY_AND_WORD: Final = late_pattern(r"(?:\b(\d{1,2})(?:\.|er|º|°)?\s+(?:de\s+)?)?\b([^\W\d_]+)\b")
"""A word, and the day of the month before it: *7. Mai*, *1er mai*, *7 de mayo*."""
_IN_DIGITS: Final = late_pattern(r"\b(\d{1,2})[./-](\d{1,2})[./-](?:19|20)\d\d\b")
_EAST_ASIAN: Final = late_pattern(
    r"(?=\d{1,4}\s*[年月년월])(?:((?:19|20)\d\d)\s*[年년]\s*)?"
    r"(?:(\d{1,2})\s*[月월](?:\s*(\d{1,2})\s*[日号號일])?)?"
)


class Day(NamedTuple):
    """A month that was named, perhaps with its day."""

    month: int
    day: int | None


class Dates(NamedTuple):
    """The dates in a question."""

    days: tuple[Day, ...]
    years: tuple[int, ...]


def named(text: str) -> Dates:
    """Return the dates that *text* names.

    >>> named("What did Ann plan on 7 May, and in 2023?")
    Dates(days=(Day(month=5, day=7),), years=(2023,))
    """
    days = [Day(int(month), int(day)) for _, month, day in _ISO.findall(text)]
    # Few questions name a month, and looking for the first letters of one is many times faster.
    names = _MONTH.finditer(text) if any(map(text.casefold().__contains__, _MONTHS)) else ()
    for found in names:
        name = found["month"]
        if name == "may":
            continue
        behind = _DAY_BEHIND.match(text, found.end())
        day = behind[1] if behind else found["before"]
        days.append(Day(_MONTHS.index(name[:3].casefold()) + 1, int(day) if day else None))
    return Dates(tuple(days), tuple(int(year) for year in _YEAR.findall(text)))


def named_in(text: str, language: str) -> Dates:
    """Return the dates that *text* names in its language.

    >>> named_in("Was war am 7. Mai 2023?", "de")
    Dates(days=(Day(month=5, day=7),), years=(2023,))

    Args:
        text: A question.
        language: Code of its language; one without a table of months is read like English.
    """
    months = MONTHS.get(language)
    days: list[Day]
    if months is None:
        english = named(text)
        days, years = [*english.days], [*english.years]
    else:
        days = [Day(int(month), int(day)) for _, month, day in _ISO.findall(text)]
        years = [int(year) for year in _YEAR.findall(text)]
        days += [Day(int(month), int(day)) for day, month in _IN_DIGITS.findall(text)]
        for day, name in _DAY_AND_WORD.findall(text.lower()):
            if name in months:
                days.append(Day(months[name], int(day) if day else None))
    for year, month, day in _EAST_ASIAN.findall(text):
        if month:
            days.append(Day(int(month), int(day) if day else None))
        if year:
            years.append(int(year))
    return Dates(tuple(days), tuple(years))


def closeness(asked: Dates, created_us: Ints) -> Ints:
    """Return the closeness of each instant to some dates, in nano-units.

    Args:
        asked: Those that a question names.
        created_us: Microseconds since the epoch, UTC; ``UNKNOWN`` has closeness 0.
    """
    close = np.zeros(len(created_us), dtype=np.int64)
    if asked.days or asked.years:
        places = _within(asked, created_us).nonzero()[0]
        close[places] = _closeness(asked, created_us[places])
    return close


def _within(asked: Dates, created_us: Ints) -> NDArray[np.bool_]:
    """Return which instants are within a named month, of any year, or else a named year.

    Two comparisons per month take a tenth of the time of computing the month of each instant.
    """
    known: NDArray[np.bool_] = created_us != UNKNOWN
    periods = list(islice(_periods(asked, created_us[known]), YEARS_MAX + 1))
    if len(periods) > YEARS_MAX:
        return known
    within = np.zeros(len(created_us), dtype=np.bool_)
    for first, end in periods:
        within |= (created_us >= first) & (created_us < end)
    return within


def _periods(asked: Dates, created_us: Ints) -> Iterator[tuple[int, int]]:
    """Yield start and end of each named month, or of each named year."""
    if not len(created_us):
        return
    if not asked.days:
        for year in dict.fromkeys(asked.years):
            yield _us(year, 1), _us(year + 1, 1)
        return
    ends = np.array([created_us.min(), created_us.max()]).astype("datetime64[us]")
    first, last = (ends.astype("datetime64[Y]").astype(np.int64) + 1970).tolist()
    for year in range(first, last + 1):
        for month in dict.fromkeys(day.month for day in asked.days):
            yield _us(year, month), _us(year + month // 12, month % 12 + 1)


def _us(year: int, month: int) -> int:
    """Return when a month begins, in microseconds since the epoch, UTC."""
    months = np.int64(12 * (year - 1970) + month - 1).astype("datetime64[M]")
    return int(months.astype("datetime64[us]").astype(np.int64))


def _closeness(asked: Dates, created_us: Ints) -> Ints:
    """Return the closeness of each instant, all of them known, to the named dates."""
    close = np.zeros(len(created_us), dtype=np.int64)
    instants = created_us.astype("datetime64[us]")
    months = instants.astype("datetime64[M]")
    month = months.astype(np.int64) % 12 + 1
    year = months.astype(np.int64) // 12 + 1970
    day = (instants.astype("datetime64[D]") - months.astype("datetime64[D]")).astype(np.int64) + 1
    of_year = np.isin(year, asked.years)
    for each in dict.fromkeys(asked.days):
        value = np.full_like(close, SAME_MONTH)
        if each.day is not None:
            apart = np.abs(day - each.day)
            value = np.where(apart <= WEEK_DAYS, SAME_WEEK, value)
            value = np.where(apart == 0, SAME_DAY, value)
        close = np.maximum(close, np.where(month == each.month, value, 0))
    if asked.years and asked.days:
        return np.where(of_year, close, close * OTHER_YEAR // 10)
    return np.where(of_year, SAME_YEAR, 0) if asked.years else close
