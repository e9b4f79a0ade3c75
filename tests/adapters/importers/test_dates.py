"""The order of day and month is decided by the whole file, or not at all."""

from __future__ import annotations

import pytest

from mnemic.adapters.importers import InputRefused
from mnemic.adapters.importers.dates import (
    DateOrder,
    Stamp,
    order,
    read,
)


def stamps(*dates: str) -> list[Stamp]:
    return [Stamp(date=date, time="10:15") for date in dates]


@pytest.mark.parametrize(
    ("dates", "found"),
    [
        (("2024-03-01", "2024-12-13"), "ymd"),
        (("2024/3/1",), "ymd"),
        (("01/02/2024", "13/02/2024"), "dmy"),
        (("01/02/24", "02/13/24"), "mdy"),
        (("01.02.2024",), "dmy"),
        (("02/02/2024",), "dmy"),
        ((), "ymd"),
    ],
)
def test_dates_that_tell_are_believed(dates: tuple[str, ...], found: DateOrder) -> None:
    assert order("chat.txt", stamps(*dates)) == found


@pytest.mark.parametrize("dates", [("01/02/2024",), ("02/02/2024", "1-2-24")])
def test_dates_that_leave_it_open_are_refused(dates: tuple[str, ...]) -> None:
    with pytest.raises(InputRefused, match="may begin with the day or with the month") as refused:
        order("chat.txt", stamps(*dates))
    assert refused.value.recovery == "Pass --date-order dmy or --date-order mdy."
    assert order("chat.txt", stamps(*dates), "mdy") == "mdy"


def test_dates_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(InputRefused, match="13/02/2024 begins with the day, 02/13/2024 with the"):
        order("chat.txt", stamps("13/02/2024", "02/13/2024"))


def test_dates_that_begin_with_the_year_need_no_word_of_the_reader() -> None:
    assert order("chat.txt", stamps("2024-03-01"), "dmy") == "ymd"


@pytest.mark.parametrize(
    ("date", "time", "written", "said"),
    [
        ("2024-03-01", "9:05", "ymd", "2024-03-01T09:05:00"),
        ("1/3/24", "9:05:07", "dmy", "2024-03-01T09:05:07"),
        ("3/1/2024", "12:05 AM", "mdy", "2024-03-01T00:05:00"),
        ("3/1/2024", "12:05\u202fPM", "mdy", "2024-03-01T12:05:00"),
        ("3/1/2024", "1.05 p.m.", "mdy", "2024-03-01T13:05:00"),
        ("01.03.24", "21.05", "dmy", "2024-03-01T21:05:00"),
        ("31/02/2024", "10:15", "dmy", "31/02/2024 10:15"),
        ("01/02/2024", "25:15", "dmy", "01/02/2024 25:15"),
    ],
)
def test_a_stamp_reads_as_iso_8601_or_stays_as_it_is_written(
    date: str, time: str, written: DateOrder, said: str
) -> None:
    assert read(Stamp(date=date, time=time), written) == said
