"""The active hour: time passes while somebody works, and nothing else makes it pass."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from itertools import count
from typing import Any, TypeAlias

import pytest

from mnemic.adapters.clocks import NEW_YEAR_2026_US, ManualClock
from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.kernel.errors import MnemicError
from mnemic.kernel.policy import Policy

Open: TypeAlias = Callable[..., SyncMemory]

MINUTE_US = 60_000_000


def refused(call: Callable[[], object]) -> str:
    with pytest.raises(MnemicError) as caught:
        call()
    assert caught.value.recovery
    return caught.value.code


class Diary:
    """A memory at which something happens at given minutes of the wall clock."""

    words = count()

    def __init__(self, memory: SyncMemory, clock: ManualClock) -> None:
        self.memory = memory
        self._clock = clock

    def at(self, minute: float) -> Diary:
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
def diary(opened: Open, clock: ManualClock) -> Diary:
    return Diary(opened(policy=Policy(auto_consolidate=False)), clock)


@pytest.fixture
def other(diary: Diary, opened: Open, clock: ManualClock) -> Diary:
    """A second process on the space of the first."""
    assert diary.memory.status().version == 1
    return Diary(opened(), clock)


# --- one session --------------------------------------------------------------------------------


def test_nothing_passes_outside_of_sessions(diary: Diary) -> None:
    assert [diary.at(minute).note() for minute in (0, 60, 100_000)] == [0, 0, 0]
    assert diary.memory.status().hour == 0.0


def test_a_session_counts_the_time_between_its_events_up_to_the_gap(diary: Diary) -> None:
    diary.at(0).start()
    assert [diary.at(minute).note() for minute in (0, 20, 80, 81, 400)] == [0, 20, 80, 81, 141]
    assert diary.at(410).end() == 151


def test_the_gap_is_policy(opened: Open, clock: ManualClock) -> None:
    policy = Policy(idle_gap_hours=0.25, auto_consolidate=False)
    diary = Diary(opened(policy=policy), clock)
    diary.at(0).start()
    assert [diary.at(minute).note() for minute in (15, 31, 1000)] == [15, 30, 45]


def test_holidays_cost_nothing(diary: Diary) -> None:
    diary.at(0).start()
    assert diary.at(30).end() == 30
    diary.at(30_000).note()
    diary.at(40_000).start()
    assert diary.at(40_005).note() == 35


def test_the_hour_of_a_live_view_runs_in_a_session_even_without_events(diary: Diary) -> None:
    diary.at(0).start()
    version = diary.memory.status().version
    assert diary.at(30).memory.status().hour == 0.5
    assert diary.at(600).memory.status().hour == 1.0
    assert diary.memory.status().version == version
    assert diary.at(15).memory.status().hour == 0.25


# --- several sessions ---------------------------------------------------------------------------


def test_overlapping_sessions_count_once(diary: Diary, other: Diary) -> None:
    diary.at(0).start()
    other.at(0).start()
    assert [diary.at(40).note(), other.at(40).note()] == [40, 40]
    assert [other.at(50).note(), diary.at(60).note()] == [50, 60]
    assert [diary.at(60).end(), other.at(60).end()] == [60, 60]


def test_sessions_that_overlap_in_part_count_their_union(diary: Diary, other: Diary) -> None:
    diary.at(0).start()
    other.at(30).start()
    assert diary.at(60).end() == 60
    assert other.at(90).end() == 90


def test_a_session_that_begins_while_another_rests_counts_only_its_own(
    diary: Diary, other: Diary
) -> None:
    diary.at(0).start()
    other.at(30).start()
    assert other.at(50).end() == 20
    assert diary.at(55).note() == 25  # the time up to 50 has been credited by the other


def test_a_crashed_session_does_not_count_the_holiday_after_it(
    diary: Diary, opened: Open, clock: ManualClock
) -> None:
    diary.at(0).start()
    assert diary.at(45).note() == 45
    diary.memory.close()
    late = Diary(opened(), clock)
    late.at(20_000).start()
    assert late.at(20_010).note() == 55
    assert late.at(20_020).end() == 65
    assert late.at(30_000).note() == 65
    assert late.memory.status().hour * 60 == pytest.approx(65)


# --- wild clocks --------------------------------------------------------------------------------


def test_a_clock_set_back_adds_nothing_until_it_has_caught_up(diary: Diary) -> None:
    diary.at(0).start()
    assert [diary.at(minute).note() for minute in (50, 20, 40, 55)] == [50, 50, 50, 55]


def test_a_clock_set_far_back_counts_on_from_there(diary: Diary) -> None:
    diary.at(0).start()
    minutes = (50, -5000, -4990, -4000)
    assert [diary.at(minute).note() for minute in minutes] == [50, 50, 60, 120]


def test_a_clock_that_leaps_ahead_adds_at_most_one_gap_and_back_nothing(diary: Diary) -> None:
    diary.at(0).start()
    minutes = (10, 5_000_000, 20, 30)
    assert [diary.at(minute).note() for minute in minutes] == [10, 70, 70, 80]


def test_the_hour_never_decreases_along_a_log(diary: Diary, other: Diary) -> None:
    diary.at(0).start()
    other.at(3).start()
    for minute in (9, -400, 7, 7, 1e6, 12, 300, -1e5, 50, 51):
        diary.at(minute).note()
        other.at(minute * 1.5).note()
        diary.memory.consolidate()
    hours = [moment.hour for moment in diary.memory.history(limit=1000)]
    assert hours == sorted(hours)
    assert hours[-1] > 0


def test_recorded_at_is_the_machines_word_and_may_step_back(diary: Diary) -> None:
    diary.at(10).note()
    diary.at(-10).note()
    found = [moment.recorded_at for moment in diary.memory.log(after=1)]
    assert found == ["2026-01-01T00:10:00+00:00", "2025-12-31T23:50:00+00:00"]
    at = datetime(2026, 1, 1, 0, 5, tzinfo=UTC)
    assert diary.memory.as_of(at=at).version == 3  # the last version recorded by then


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


class Away:
    """An embedder that cannot be reached."""

    identity = HashEmbedder().identity

    def embed(self, texts: object) -> Any:
        raise ConnectionError(f"nobody embeds {texts!r}")


def test_a_session_ends_even_when_its_last_blocks_cannot_be_promoted(opened: Open) -> None:
    memory = opened(embedder=Away())
    memory.start_session()
    memory.learn("pending")
    assert refused(memory.end_session) == "vector-refused"
    assert (memory.status().open_sessions, memory.status().inbox) == ((), 1)
    assert memory.start_session().action == "started"


def test_a_with_block_holds_a_session_and_ends_it_whatever_happens(memory: SyncMemory) -> None:
    with memory.session() as session:
        assert memory.status().open_sessions == (session,)
    assert memory.status().open_sessions == ()
    with pytest.raises(ZeroDivisionError), memory.session():
        raise ZeroDivisionError
    assert memory.status().open_sessions == ()
