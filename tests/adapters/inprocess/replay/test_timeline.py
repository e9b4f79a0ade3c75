"""timeline: when everything happened."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.system.clocks import ManualClock
from mnemic.kernel.errors import FieldRefused
from mnemic.kernel.results import RecallResult, SessionSpan

Busy = Callable[[SyncMemory], list[RecallResult]]


def test_the_timeline_counts_the_events_of_the_log(memory: SyncMemory, busy: Busy) -> None:
    busy(memory)
    log = memory.log(limit=1000)
    answer = memory.timeline(bins=7)
    assert dict(answer.kinds) == dict(Counter(each.kind for each in log))
    assert (answer.events, answer.version) == (len(log), log[-1].version)
    assert (answer.from_at, answer.to_at) == (log[0].recorded_at, log[-1].recorded_at)
    counted: Counter[str] = Counter()
    for each in answer.bins:
        counted.update(each.kinds)
    assert counted == Counter(answer.kinds)


def test_bins_are_equal_intervals_that_partition_the_events(memory: SyncMemory, busy: Busy) -> None:
    busy(memory)
    hours = [each.hour for each in memory.log(limit=1000)]
    bins = memory.timeline(bins=10).bins
    assert [each.from_hour for each in bins][1:] == [each.to_hour for each in bins][:-1]
    assert (bins[0].from_hour, bins[-1].to_hour) == (0.0, hours[-1])
    for each in bins[:-1]:
        inside = [
            place for place, hour in enumerate(hours) if each.from_hour <= hour < each.to_hour
        ]
        ends = (inside[0], inside[-1]) if inside else (None, None)
        assert (each.from_version, each.to_version, each.events) == (*ends, len(inside))


def test_without_active_time_there_is_one_bin(memory: SyncMemory) -> None:
    memory.learn("x")
    (only,) = memory.timeline().bins
    assert (only.from_hour, only.to_hour, only.events) == (0.0, 0.0, 3)


def test_sessions_last_from_their_start_to_their_last_event(
    memory: SyncMemory, clock: ManualClock
) -> None:
    first = memory.start_session().session_id
    clock.advance(minutes=30)
    memory.learn("x")
    memory.end_session()
    clock.advance(days=3)
    second = memory.start_session().session_id
    clock.advance(minutes=15)
    memory.learn("y")
    answer = memory.timeline()
    assert answer.sessions == (
        SessionSpan(
            session_id=first,
            start_version=2,
            end_version=6,
            ended=True,
            from_hour=0.0,
            to_hour=0.5,
            started_at="2026-01-01T00:00:00+00:00",
            ended_at="2026-01-01T00:30:00+00:00",
            events=5,
        ),
        SessionSpan(
            session_id=second,
            start_version=7,
            end_version=8,
            ended=False,
            from_hour=0.5,
            to_hour=0.75,
            started_at="2026-01-04T00:30:00+00:00",
            ended_at="2026-01-04T00:45:00+00:00",
            events=2,
        ),
    )
    assert (answer.sessions_total, answer.next_after) == (2, None)


def test_sessions_come_page_by_page(memory: SyncMemory) -> None:
    for _ in range(5):
        memory.start_session()
        memory.end_session()
    pages = []
    after = None
    for _ in range(3):
        page = memory.timeline(after=after, limit=2)
        pages.append([each.start_version for each in page.sessions])
        after = page.next_after
    assert pages == [[2, 4], [6, 8], [10]]
    assert after is None


def test_a_view_excludes_later_events(memory: SyncMemory, busy: Busy) -> None:
    busy(memory)
    answer = memory.as_of(version=6).timeline(bins=3)
    assert (answer.version, answer.events, sum(each.events for each in answer.bins)) == (6, 7, 7)
    assert [each.end_version for each in answer.sessions] == [6]
    assert not answer.sessions[0].ended


@pytest.mark.parametrize("given", [{"bins": 0}, {"bins": 1001}, {"limit": 0}, {"after": "3"}])
def test_arguments_out_of_range_are_refused(memory: SyncMemory, given: dict[str, int]) -> None:
    with pytest.raises(FieldRefused):
        memory.timeline(**given)
