from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta, timezone

import pytest

from mnemic.adapters.system.clocks import NEW_YEAR_2026_US, ManualClock, SystemClock
from mnemic.kernel.ports import Clock


def test_the_system_clock_tells_the_time_of_this_machine() -> None:
    clock: Clock = SystemClock()
    before = time.time_ns()
    assert before // 1000 <= clock.now_us() <= time.time_ns() // 1000


def test_a_manual_clock_stays_still_until_it_is_moved() -> None:
    clock: Clock = ManualClock()
    assert [clock.now_us(), clock.now_us()] == [NEW_YEAR_2026_US, NEW_YEAR_2026_US]
    assert datetime(2026, 1, 1, tzinfo=UTC).timestamp() * 1e6 == NEW_YEAR_2026_US


def test_advance_adds_its_arguments_and_may_go_back() -> None:
    clock = ManualClock(0)
    steps = [
        clock.advance(days=1, hours=2, minutes=3, seconds=4, microseconds=5),
        clock.advance(hours=-26.5),
        clock.now_us(),
    ]
    assert steps == [93_784_000_005, -1_615_999_995, -1_615_999_995]


def test_set_takes_microseconds_or_an_instant_of_any_zone() -> None:
    clock = ManualClock()
    noon = datetime(1970, 1, 1, 12, microsecond=1, tzinfo=timezone(timedelta(hours=1)))
    assert [clock.set(7), clock.set(noon), clock.now_us()] == [7, 39_600_000_001, 39_600_000_001]


def test_set_refuses_an_instant_without_a_zone() -> None:
    with pytest.raises(TypeError):
        ManualClock().set(datetime(2026, 1, 1))  # noqa: DTZ001 - that is the point


def test_a_hostile_clock_repeats_steps_back_and_jumps() -> None:
    clock = ManualClock(100, jumps=(0, 0, -30, 10**12, -(10**12)))
    assert [clock.now_us() for _ in range(6)] == [100, 100, 70, 70 + 10**12, 70, 70]
