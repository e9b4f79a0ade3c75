"""A day means its end, in the local time zone or the one named after it."""

from __future__ import annotations

import time
from collections.abc import Generator
from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.adapters.client.time_points import point_named
from mnemic.adapters.system.days import day_or_instant
from mnemic.kernel.errors import FieldRefused
from mnemic.kernel.timestamps import instant, iso


@pytest.fixture
def in_berlin(monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    """Set the time zone of the process."""
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def read(value: object) -> str:
    us = day_or_instant("at", value)
    assert us is not None
    return iso(us)


@pytest.mark.parametrize(
    ("value", "end"),
    [
        ("2026-11-17", "2026-11-17T22:59:59.999999+00:00"),
        (date(2026, 11, 17), "2026-11-17T22:59:59.999999+00:00"),
        (" 2026-W47-2 ", "2026-11-17T22:59:59.999999+00:00"),
        ("2026-07-17", "2026-07-17T21:59:59.999999+00:00"),
    ],
)
@pytest.mark.usefixtures("in_berlin")
def test_a_day_ends_in_the_local_zone(value: object, end: str) -> None:
    assert read(value) == end
    assert point_named(at=value).word == f"at:{end}"  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("value", "end"),
    [
        ("2026-11-17[America/New_York]", "2026-11-18T04:59:59.999999+00:00"),
        ("2026-11-17 [UTC]", "2026-11-17T23:59:59.999999+00:00"),
        # Clocks go back from midnight to eleven: the day ends the second time.
        ("2026-10-31[America/Havana]", "2026-11-01T03:59:59.999999+00:00"),
        # Clocks go forward at midnight: the next day begins at one.
        ("2026-04-23[Africa/Cairo]", "2026-04-23T21:59:59.999999+00:00"),
        ("2026-11-17T12:00[Europe/Berlin]", "2026-11-17T11:00:00+00:00"),
        ("2026-11-17T12:00+00:00[Europe/Berlin]", "2026-11-17T12:00:00+00:00"),
    ],
)
def test_a_zone_may_follow_in_brackets(value: str, end: str) -> None:
    assert read(value) == end
    assert point_named(at=value).word == f"at:{end}"


@given(st.datetimes())
def test_an_instant_is_read_as_everywhere(moment: datetime) -> None:
    text = moment.isoformat()
    assert day_or_instant("at", text) == instant("at", text)
    assert day_or_instant("at", moment) == instant("at", moment)


@given(st.dates())
def test_a_day_ends_just_before_the_next_one(day: date) -> None:
    end = datetime.combine(day, datetime.max.time(), UTC)
    assert day_or_instant("at", f"{day.isoformat()}[UTC]") == instant("at", end)
    assert day_or_instant("at", day) is not None  # also at the ends of the calendar


@pytest.mark.parametrize(
    "value", ["2026-11-17[Europe/Atlantis]", "2026-11-17[../../etc]", "2026-11-17[]", "[UTC]", 7]
)
def test_what_is_no_day_is_refused_with_the_argument(value: object) -> None:
    with pytest.raises(FieldRefused) as refused:
        day_or_instant("at", value)
    assert (refused.value.facts["field"], bool(refused.value.recovery)) == ("at", True)


def test_the_end_of_a_day_is_within_it() -> None:
    day = date(2026, 11, 17)
    us = day_or_instant("at", day)
    assert us is not None
    local = datetime.fromtimestamp(us / 1_000_000)  # noqa: DTZ006 - the local day is meant
    assert local.date() == day
    assert (local + timedelta(milliseconds=1)).date() == date(2026, 11, 18)
