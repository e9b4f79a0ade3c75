"""The active hour: active time passes in sessions only."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from itertools import count
from typing import Any, TypeAlias

import pytest

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.system.clocks import NEW_YEAR_2026_US, ManualClock
from mnemic.kernel.errors import MnemicError
from mnemic.kernel.policy import Policy

Open: TypeAlias = Callable[..., SyncMemory]

MINUTE_US = 60_000_000


def refused(call: Callable[[], object]) -> str:
    with pytest.raises(MnemicError) as caught:
        call()
    assert caught.value.recovery
    return caught.value.code


class TimedMemory:
    """A memory with operations at given minutes of the wall clock."""

    words = count()

    def __init__(self, memory: SyncMemory, clock: ManualClock) -> None:
        self.memory = memory
        self._clock = clock

    def at(self, minute: float) -> TimedMemory:
        self._clock.set(NEW_YEAR_2026_US + round(minute * MINUTE_US))
        return self

    def start(self) -> None:
        self.memory.start_session()

    def end(self) -> float:
        """End the session and return the active minutes so far."""
        return round(self.memory.end_session().hour * 60, 9)

    def note(self) -> float:
        """Learn something and return the active minutes of that event."""
        learned = self.memory.learn(f"note {next(self.words)}")
        (moment,) = self.memory.log(after=learned.version - 1, limit=1)
        return round(moment.hour * 60, 9)


@pytest.fixture
def timed(opened: Open, clock: ManualClock) -> TimedMemory:
    return TimedMemory(opened(policy=Policy(auto_consolidate=False)), clock)


@pytest.fixture
def other(timed: TimedMemory, opened: Open, clock: ManualClock) -> TimedMemory:
    """A second process on the same space."""
    assert timed.memory.status().version == 1
    return TimedMemory(opened(), clock)


# --- one session --------------------------------------------------------------------------------


def test_nothing_passes_outside_of_sessions(timed: TimedMemory) -> None:
    assert [timed.at(minute).note() for minute in (0, 60, 100_000)] == [0, 0, 0]
    assert timed.memory.status().hour == 0.0


def test_a_session_counts_the_time_between_its_events_up_to_the_gap(timed: TimedMemory) -> None:
    timed.at(0).start()
    assert [timed.at(minute).note() for minute in (0, 20, 80, 81, 400)] == [0, 20, 80, 81, 141]
    assert timed.at(410).end() == 151


def test_the_gap_is_policy(opened: Open, clock: ManualClock) -> None:
    policy = Policy(idle_gap_hours=0.25, auto_consolidate=False)
    timed = TimedMemory(opened(policy=policy), clock)
    timed.at(0).start()
    assert [timed.at(minute).note() for minute in (15, 31, 1000)] == [15, 30, 45]


def test_no_active_time_passes_between_sessions(timed: TimedMemory) -> None:
    timed.at(0).start()
    assert timed.at(30).end() == 30
    timed.at(30_000).note()
    timed.at(40_000).start()
    assert timed.at(40_005).note() == 35


def test_the_hour_of_a_live_view_runs_in_a_session_even_without_events(timed: TimedMemory) -> None:
    timed.at(0).start()
    version = timed.memory.status().version
    assert timed.at(30).memory.status().hour == 0.5
    assert timed.at(600).memory.status().hour == 1.0
    assert timed.memory.status().version == version


def test_the_hour_of_a_status_never_steps_back(timed: TimedMemory, other: TimedMemory) -> None:
    timed.at(0).start()
    assert timed.at(30).memory.status().hour == 0.5
    assert other.memory.status().hour == 0.0  # of another process, where no session is open
    assert timed.memory.session_handle(actor="b").status().hour == 0.5
    assert timed.at(15).memory.status().hour == 0.5  # the machine's clock was set back
    assert timed.note() == 15
    assert timed.memory.status().hour == 0.5
    assert timed.at(50).memory.status().hour == pytest.approx(50 / 60)


# --- several sessions ---------------------------------------------------------------------------


def test_overlapping_sessions_count_once(timed: TimedMemory, other: TimedMemory) -> None:
    timed.at(0).start()
    other.at(0).start()
    assert [timed.at(40).note(), other.at(40).note()] == [40, 40]
    assert [other.at(50).note(), timed.at(60).note()] == [50, 60]
    assert [timed.at(60).end(), other.at(60).end()] == [60, 60]


def test_sessions_that_overlap_in_part_count_their_union(
    timed: TimedMemory, other: TimedMemory
) -> None:
    timed.at(0).start()
    other.at(30).start()
    assert timed.at(60).end() == 60
    assert other.at(90).end() == 90


def test_a_session_that_begins_while_another_idles_counts_only_its_own_time(
    timed: TimedMemory, other: TimedMemory
) -> None:
    timed.at(0).start()
    other.at(30).start()
    assert other.at(50).end() == 20
    assert timed.at(55).note() == 25  # the other session has credited the time up to 50


def test_a_crashed_session_does_not_count_the_holiday_after_it(
    timed: TimedMemory, opened: Open, clock: ManualClock
) -> None:
    timed.at(0).start()
    assert timed.at(45).note() == 45
    timed.memory.close()
    late = TimedMemory(opened(), clock)
    late.at(20_000).start()
    assert late.at(20_010).note() == 55
    assert late.at(20_020).end() == 65
    assert late.at(30_000).note() == 65
    assert late.memory.status().hour * 60 == pytest.approx(65)


# --- wild clocks --------------------------------------------------------------------------------


def test_a_clock_set_back_adds_nothing_until_it_has_caught_up(timed: TimedMemory) -> None:
    timed.at(0).start()
    assert [timed.at(minute).note() for minute in (50, 20, 40, 55)] == [50, 50, 50, 55]


def test_a_clock_set_far_back_counts_on_from_there(timed: TimedMemory) -> None:
    timed.at(0).start()
    minutes = (50, -5000, -4990, -4000)
    assert [timed.at(minute).note() for minute in minutes] == [50, 50, 60, 120]


def test_a_forward_clock_jump_adds_at_most_one_gap_and_a_backward_jump_nothing(
    timed: TimedMemory,
) -> None:
    timed.at(0).start()
    minutes = (10, 5_000_000, 20, 30)
    assert [timed.at(minute).note() for minute in minutes] == [10, 70, 70, 80]


def test_the_hour_never_decreases_along_a_log(timed: TimedMemory, other: TimedMemory) -> None:
    timed.at(0).start()
    other.at(3).start()
    for minute in (9, -400, 7, 7, 1e6, 12, 300, -1e5, 50, 51):
        timed.at(minute).note()
        other.at(minute * 1.5).note()
        timed.memory.consolidate()
    hours = [moment.hour for moment in timed.memory.history(limit=1000)]
    assert hours == sorted(hours)
    assert hours[-1] > 0


def test_recorded_at_is_the_wall_clock_and_may_step_back(timed: TimedMemory) -> None:
    timed.at(10).note()
    timed.at(-10).note()
    found = [moment.recorded_at for moment in timed.memory.log(after=1)]
    assert found == ["2026-01-01T00:10:00+00:00", "2025-12-31T23:50:00+00:00"]
    at = datetime(2026, 1, 1, 0, 5, tzinfo=UTC)
    assert timed.memory.as_of(at=at).version == 3  # the last version recorded by then


# --- starting and ending ------------------------------------------------------------------------


def test_a_session_is_named_in_its_events(memory: SyncMemory) -> None:
    memory.learn("before")
    started = memory.start_session()
    assert (started.action, started.hour) == ("started", 0.0)
    assert memory.status().open_sessions == (started.session_id,)
    memory.learn("within")
    ended = memory.end_session()
    assert (ended.action, ended.session_id) == ("ended", started.session_id)
    memory.learn("after")
    named = [(moment.kind, moment.session_id) for moment in memory.log(after=1)]
    session = started.session_id
    assert named == [
        ("block-learned", None),
        ("session-started", session),
        ("block-learned", session),
        ("embedder-adopted", session),
        ("blocks-promoted", session),
        ("session-ended", session),
        ("block-learned", None),
    ]
    assert memory.status().open_sessions == ()


def test_a_memory_has_one_session_at_a_time(memory: SyncMemory) -> None:
    assert refused(memory.end_session) == "session-state"
    memory.start_session()
    before = memory.status()
    assert refused(memory.start_session) == "session-state"
    assert memory.status() == before
    memory.end_session()
    assert refused(memory.end_session) == "session-state"
    first = memory.start_session().session_id
    memory.end_session()
    assert memory.start_session().session_id != first


class UnreachableEmbedder:
    """An unreachable embedder."""

    identity = HashEmbedder().identity

    def embed(self, texts: object) -> Any:
        raise ConnectionError(f"the embedder is unreachable: {texts!r}")


def test_a_session_ends_even_when_its_last_blocks_cannot_be_promoted(opened: Open) -> None:
    memory = opened(embedder=UnreachableEmbedder())
    memory.start_session()
    memory.learn("pending")
    assert refused(memory.end_session) == "vector-refused"
    assert (memory.status().open_sessions, memory.status().inbox) == ((), 1)
    assert memory.start_session().action == "started"


def test_a_with_block_ends_its_session_even_after_an_error(memory: SyncMemory) -> None:
    with memory.session() as session:
        assert memory.status().open_sessions == (session,)
    assert memory.status().open_sessions == ()
    with pytest.raises(ZeroDivisionError), memory.session():
        raise ZeroDivisionError
    assert memory.status().open_sessions == ()
