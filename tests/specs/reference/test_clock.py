from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from mnemic.kernel.clock import ActiveClock
from mnemic.kernel.model.identity import SessionId
from mnemic.specs.reference.clock import PlainClock
from mnemic.specs.strategies.clocks import HOUR_US, Tick, sessions

GAPS = st.sampled_from((1, HOUR_US // 2, HOUR_US))


def plain_readings(ticks: list[Tick], gap_us: int) -> list[int]:
    clock, readings = PlainClock(), []
    for tick in ticks:
        readings.append(clock.event(tick.session, tick.now_us, gap_us))
        if tick.session is not None and tick.what == "start":
            clock.start(tick.session, tick.now_us)
        if tick.session is not None and tick.what == "end":
            clock.end(tick.session)
    return readings


def kernel_readings(ticks: list[Tick], gap_us: int) -> list[int]:
    clock, readings = ActiveClock(), []
    for tick in ticks:
        session = None if tick.session is None else SessionId(tick.session)
        readings.append(clock.tick(session, tick.now_us, gap_us=gap_us))
        if session is not None and tick.what == "start":
            clock.start(session, tick.now_us)
        if session is not None and tick.what == "end":
            clock.end(session)
    return readings


@given(ticks=sessions(), gap_us=GAPS)
def test_active_time_agrees_for_any_clock(ticks: list[Tick], gap_us: int) -> None:
    assert plain_readings(ticks, gap_us) == kernel_readings(ticks, gap_us)


@given(ticks=sessions(), gap_us=GAPS)
def test_active_time_never_decreases_nor_leaps_over_a_gap(ticks: list[Tick], gap_us: int) -> None:
    readings = [0, *plain_readings(ticks, gap_us)]
    moves = [later - earlier for earlier, later in pairwise(readings)]
    assert all(0 <= move <= gap_us for move in moves)


@given(ticks=sessions(), gap_us=GAPS)
def test_concurrent_sessions_add_no_more_than_wall_clock_time(
    ticks: list[Tick], gap_us: int
) -> None:
    ahead = sorted(ticks, key=lambda tick: tick.now_us)
    readings = plain_readings(ahead, gap_us)
    assert readings[-1] <= ahead[-1].now_us - ahead[0].now_us
