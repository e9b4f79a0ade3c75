from __future__ import annotations

import pytest

from mnemic.kernel.clock import ActiveClock
from mnemic.kernel.model.identity import SessionId
from mnemic.kernel.timestamps import instant
from mnemic.specs.reference.clock import PlainClock
from mnemic.specs.reference.scoring import instant_us
from mnemic.specs.rules import Row, rows

MICROS_PER_MINUTE = 60_000_000
MINUTES_PER_DAY = 1440


def reading_us(text: str) -> int:
    """Return ``3d 09:30`` as microseconds of wall clock."""
    *days, time = text.split("d ")
    hours, minutes = time.split(":")
    day = int(days[0]) if days else 0
    return (day * MINUTES_PER_DAY + int(hours) * 60 + int(minutes)) * MICROS_PER_MINUTE


def kernel_readings(row: Row) -> list[int]:
    clock, readings = ActiveClock(), []
    for name, what, text in row.given["steps"]:
        session = SessionId(name) if name else None
        readings.append(clock.tick(session, reading_us(text), gap_us=row.policy.gap_us))
        if session is not None and what == "start":
            clock.start(session, reading_us(text))
        if session is not None and what == "end":
            clock.end(session)
    return readings


def reference_readings(row: Row) -> list[int]:
    clock, readings = PlainClock(), []
    for session, what, text in row.given["steps"]:
        readings.append(clock.event(session or None, reading_us(text), row.policy.gap_us))
        if what == "start":
            clock.start(session, reading_us(text))
        if what == "end":
            clock.end(session)
    return readings


@pytest.mark.parametrize("row", rows("clock.active-time"), ids=str)
def test_active_time_passes_within_sessions_only(row: Row) -> None:
    said = [minutes * MICROS_PER_MINUTE for minutes in row.then["minutes"]]
    assert kernel_readings(row) == said
    assert reference_readings(row) == said


@pytest.mark.parametrize("row", rows("clock.instant"), ids=str)
def test_offsets_are_converted_and_naive_times_are_utc(row: Row) -> None:
    found = instant_us(row.given["text"])
    assert instant("created_at", row.given["text"]) == found
    assert found == row.then.get(
        "after_epoch_us", instant_us(row.then.get("same_as", "1970-01-01"))
    )
