"""The time of a command: one call of the timeline, whatever sessions and clocks did before."""

from __future__ import annotations

from typing import Any

import pytest

from mnemic.kernel.errors import FieldRefused
from mnemic.kernel.events import Event, Recorded, SessionEnded, SessionStarted, SpaceErased
from mnemic.kernel.model.identity import CommandId, SessionId
from mnemic.kernel.policy import DEFAULT
from mnemic.kernel.timestamps import Instant
from mnemic.projections.state import State, rebuild

S, OTHER = SessionId("s"), SessionId("other")
START_US = 1_000_000_000
GAP_US = DEFAULT.gap_us


def after(*events: tuple[Event, SessionId | None, int]) -> State:
    """Return the state after some events, each with its session and wall clock."""
    state = State()
    for version, (event, session, now_us) in enumerate(events):
        at = state.timeline.instant(session, now_us)
        recorded = Recorded(
            version=version,
            active_us=at.active_us,
            recorded_us=at.recorded_us,
            command_id=CommandId("c"),
            event=event,
            session_id=session,
        )
        rebuild(state, [recorded])
    return state


STARTED = (SessionStarted(session_id=S), S, START_US)
ENDED = (SessionEnded(session_id=S), S, START_US + 50)


@pytest.mark.parametrize(
    ("session", "now_us", "active_us"),
    [
        (S, START_US, 0),
        (S, START_US + 70, 70),
        (S, START_US - 70, 0),
        (S, START_US + 2 * GAP_US, GAP_US),
        (None, START_US + 70, 0),
        (OTHER, START_US + 70, 0),
    ],
)
def test_active_time_passes_within_a_session_up_to_the_gap(
    session: SessionId | None, now_us: int, active_us: int
) -> None:
    assert after(STARTED).timeline.instant(session, now_us) == Instant(active_us, now_us)


def test_overlapping_sessions_count_once() -> None:
    other = (SessionStarted(session_id=OTHER), OTHER, START_US + 40)
    state = after(STARTED, other, (SpaceErased(), S, START_US + 60))
    assert state.timeline.instant(OTHER, START_US + 100) == Instant(100, START_US + 100)


def test_no_time_passes_after_the_end_of_a_session() -> None:
    state = after(STARTED, ENDED)
    assert state.timeline.instant(S, START_US + 90) == Instant(50, START_US + 90)


def test_asking_for_the_time_changes_nothing() -> None:
    state = after(STARTED)
    first = state.timeline.instant(S, START_US + 70)
    assert state.timeline.instant(S, START_US + 70) == first
    assert state.timeline.instant(S, START_US + 30) == Instant(30, START_US + 30)


@pytest.mark.parametrize("now_us", [1.5, True, None, 2**62, -(2**62) - 1])
def test_a_clock_that_a_log_cannot_hold_is_refused(now_us: Any) -> None:
    with pytest.raises(FieldRefused, match="the clock shows") as refused:
        State().timeline.instant(None, now_us)
    assert refused.value.facts == {"field": "clock"}
