"""Dates of chat logs, whose order of day and month is decided by the whole file."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from typing import Final, Literal

from attrs import frozen

from mnemic.adapters.importers.parsed_items import InputRefused

DateOrder = Literal["ymd", "dmy", "mdy"]
"""Year, month and day in the order in which they are written."""

DATE: Final = r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}"
TIME: Final = r"\d{1,2}[:.]\d{2}(?:[:.]\d{2})?(?:[ \u00a0\u202f]?[AaPp]\.?[Mm]\.?)?"

_NUMBERS: Final = re.compile(r"\d+")
_YEAR_FIRST: Final = re.compile(r"\d{4}")
_MONTHS: Final = 12
_NOON: Final = 12
_CENTURY: Final = 2_000
"""The century of a year of two digits: messengers are more recent."""


@frozen(kw_only=True)
class Stamp:
    """A date and time as written."""

    date: str
    time: str

    @property
    def numbers(self) -> tuple[str, str, str]:
        """The three numbers of the date, in their order."""
        first, second, third = _NUMBERS.findall(self.date)
        return first, second, third


def read(stamp: Stamp, order: DateOrder) -> str:
    """Return a stamp in ISO 8601, without a zone; as written if there is no such day or time."""
    year, month, day = (int(stamp.numbers[order.index(part)]) for part in "ymd")
    year += _CENTURY if year < 100 else 0  # noqa: PLR2004 - written with two digits
    hour, minute, *second = map(int, _NUMBERS.findall(stamp.time))
    half = stamp.time.lower().replace(".", "")[-2:]
    if half in {"am", "pm"}:
        hour = hour % _NOON + (_NOON if half == "pm" else 0)
    clock = ":".join(f"{number:02}" for number in (hour, minute, *(second or [0])))
    written = f"{year:04}-{month:02}-{day:02}T{clock}"
    try:
        datetime.fromisoformat(written)
    except ValueError:
        return f"{stamp.date} {stamp.time}"
    return written


def order(name: str, stamps: Iterable[Stamp], given: DateOrder | None = None) -> DateOrder:
    """Return the order of all dates of a file.

    Args:
        name: The name of the file in messages.
        stamps: All stamps in the file.
        given: The order given by the user; only dates that begin with the year override it.

    Raises:
        InputRefused: The dates are ambiguous, or contradict each other.
    """
    dates = list(dict.fromkeys(stamp.date for stamp in stamps))
    if all(_YEAR_FIRST.match(date) for date in dates):
        return "ymd"
    if given is not None:
        return given
    day_first = [date for date in dates if _first(date) > _MONTHS]
    month_first = [date for date in dates if _second(date) > _MONTHS]
    if day_first and month_first:
        raise InputRefused(
            f"{name}: {day_first[0]} begins with the day, {month_first[0]} with the month",
            recovery="Pass --date-order dmy, mdy or ymd; dates that do not fit count as unknown.",
        )
    if month_first:
        return "mdy"
    open_dates = [date for date in dates if _first(date) != _second(date) and "." not in date]
    if day_first or not open_dates:  # with points the day comes first
        return "dmy"
    raise InputRefused(
        f"{name}: {open_dates[0]} may begin with the day or with the month",
        recovery="Pass --date-order dmy or --date-order mdy.",
    )


def _first(date: str) -> int:
    return int(_NUMBERS.findall(date)[0])


def _second(date: str) -> int:
    return int(_NUMBERS.findall(date)[1])
