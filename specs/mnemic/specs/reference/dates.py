"""Dates in a question, and the closeness of a text to them (DOMAIN section 6).

The question is read word by word.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from attrs import frozen

from mnemic.kernel.months import MONTHS as FOREIGN
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


def named_in(question: str, language: str) -> NamedDates:
    """Return the dates that *question* names in its language, and those in Chinese characters."""
    found = named_dates(question)
    if language in FOREIGN:
        found = _foreign_dates(question, FOREIGN[language])
    days, years = [*found.days], [*found.years]
    # A year, a month and a day, each with its sign, from the left to the right.
    place = 0
    while place < len(question):
        end = place
        parts: dict[str, int] = {}
        for signs, length in (("年년", 4), ("月월", 2), ("日号號일", 2)):
            if signs == "日号號일" and "月월" not in parts:
                break
            number = re.match(rf"\s*(\d{{1,{length}}})\s*[{signs}]", question[end:])
            if number is None or (parts == {} and question[end].isspace()):
                continue
            if length == len("2023") and not re.fullmatch(r"(19|20)\d\d", number[1]):
                continue
            parts[signs] = int(number[1])
            end += number.end()
        if "月월" in parts:
            days.append((parts["月월"], parts.get("日号號일")))
        if "年년" in parts:
            years.append(parts["年년"])
        place = max(end, place + 1)
    return NamedDates(days=tuple(days), years=tuple(years))


def _foreign_dates(question: str, months: Mapping[str, int]) -> NamedDates:
    """Return dates in ISO form, in digits with the day first, and by the name of the month."""
    words = [Word(text=text, gap=gap) for gap, text in re.findall(r"(\W*)(\w+)", question)]
    days: list[tuple[int, int | None]] = []
    for one, two, three in zip(words, words[1:], words[2:], strict=False):
        digits = f"{one.text}-{two.text}-{three.text}"
        if two.gap == three.gap == "-" and re.fullmatch(r"(19|20)\d\d-\d\d-\d\d", digits):
            days.append((int(two.text), int(three.text)))
    for one, two, three in zip(words, words[1:], words[2:], strict=False):
        digits = f"{one.text}-{two.text}-{three.text}"
        is_apart = two.gap in {".", "/", "-"} and three.gap in {".", "/", "-"}
        if is_apart and re.fullmatch(r"\d\d?-\d\d?-(19|20)\d\d", digits):
            days.append((int(two.text), int(one.text)))
    for place, word in enumerate(words):
        number = months.get(word.text.lower())
        if number is not None:
            days.append((number, _day_before(words[: place + 1])))
    years = (_year(word) for word in words)
    return NamedDates(days=tuple(days), years=tuple(year for year in years if year))


def _day_before(words: list[Word]) -> int | None:
    """Return the day before the last of *words*: 7 mai, 7. Mai, 1er mai, 7 de mayo."""
    *before, last = words
    gap = last.gap
    if before and before[-1].text.lower() == "de" and gap.isspace():
        gap = before.pop().gap
    if not before or not gap.lstrip(".°").isspace() or len(gap) - len(gap.lstrip(".°")) > 1:
        return None
    found = re.fullmatch(r"(\d\d?)(er|º)?", before[-1].text.lower())
    return int(found[1]) if found else None


def closeness(question: str, created_us: int | None, language: str | None = None) -> int:
    """Return the closeness of a text to the dates of *question*, nano-units.

    Args:
        question: Any text; without a date the result is 0.
        created_us: Creation date of the text; None if unknown, and then the result is 0.
        language: Of the question; None: as older recipes read it.
    """
    asked = named_dates(question) if language is None else named_in(question, language)
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
