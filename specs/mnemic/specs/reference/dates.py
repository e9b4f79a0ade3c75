"""Dates in a question, and the closeness of a text to them (DOMAIN section 6).

The question is read word by word.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from attrs import frozen

from mnemic.kernel.numeric.arithmetic import NANO

MONTHS = (
    ("jan", "january"),
    ("feb", "february"),
    ("mar", "march"),
    ("apr", "april"),
    ("may",),
    ("jun", "june"),
    ("jul", "july"),
    ("aug", "august"),
    ("sep", "sept", "september"),
    ("oct", "october"),
    ("nov", "november"),
    ("dec", "december"),
)
WEEK_DAYS = 7
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@frozen(kw_only=True)
class Word:
    """A run of letters and digits, with the characters between it and the previous one."""

    text: str
    gap: str


@frozen(kw_only=True)
class NamedDates:
    """Months, each with a day or None, and years."""

    days: tuple[tuple[int, int | None], ...]
    years: tuple[int, ...]


def named_dates(question: str) -> NamedDates:
    """Return the dates that *question* names: ISO dates first, then months, in order."""
    words = [Word(text=text, gap=gap) for gap, text in re.findall(r"(\W*)(\w+)", question)]
    days: list[tuple[int, int | None]] = []
    for year, month, day in zip(words, words[1:], words[2:], strict=False):
        digits = re.fullmatch(r"\d\d-\d\d", f"{month.text}-{day.text}")
        if digits and _year(year) and month.gap == day.gap == "-":
            days.append((int(month.text), int(day.text)))
    for place, word in enumerate(words):
        if word.text == "may":  # the verb
            continue
        for number, spellings in enumerate(MONTHS, start=1):
            if word.text.casefold() in spellings:
                days.append((number, _day_of(words, place)))
    years = (_year(word) for word in words)
    return NamedDates(days=tuple(days), years=tuple(year for year in years if year))


def _year(word: Word) -> int | None:
    return int(word.text) if re.fullmatch(r"(19|20)\d\d", word.text) else None


def _day(word: Word) -> int | None:
    found = re.fullmatch(r"(\d\d?)(st|nd|rd|th)?", word.text.lower())
    return int(found[1]) if found else None


def _day_of(words: list[Word], place: int) -> int | None:
    """Return the day of a month: of "May 7" and "Sept. 7th", else of "7 May" or "7th of May"."""
    if place + 1 < len(words):
        behind = words[place + 1]
        day = _day(behind)
        if day is not None and behind.gap.removeprefix(".").isspace():
            return day
    if place == 0 or not words[place].gap.isspace():
        return None
    before = words[place - 1]
    if before.text.lower() == "of" and place > 1 and before.gap.isspace():
        before = words[place - 2]
    return _day(before)


def closeness(question: str, created_us: int | None) -> int:
    """Return the closeness of a text to the dates of *question*, nano-units.

    Args:
        question: Any text; without a date the result is 0.
        created_us: Creation date of the text; None if unknown, and then the result is 0.
    """
    asked = named_dates(question)
    if created_us is None or not (asked.days or asked.years):
        return 0
    moment = EPOCH + timedelta(microseconds=created_us)
    if not asked.days:
        return 3 * NANO // 10 if moment.year in asked.years else 0
    best = 0
    for month, day in asked.days:
        if month != moment.month:
            continue
        if day is None or abs(day - moment.day) > WEEK_DAYS:
            best = max(best, NANO // 2)
        elif day != moment.day:
            best = max(best, 3 * NANO // 4)
        else:
            best = NANO
    if asked.years and moment.year not in asked.years:
        return best * 3 // 10
    return best
