"""as_of: a view of the past equals the state of a log truncated at that point."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias

import pytest
from attrs import evolve

from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.inprocess.view import SyncView
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.system.clocks import ManualClock
from mnemic.kernel.errors import MnemicError, PointOutOfRange
from mnemic.kernel.policy import Policy
from mnemic.kernel.ports import Analysis, Passage
from mnemic.kernel.results import RecallResult

Open: TypeAlias = Callable[..., SyncMemory]
Busy: TypeAlias = Callable[[SyncMemory], list[RecallResult]]

FRAMES = ("attention", "self", "task", "short_term", "world")


def refused(call: Callable[[], object]) -> str:
    with pytest.raises(MnemicError) as caught:
        call()
    assert caught.value.recovery
    return caught.value.code


def cut(store: MemoryStore, version: int) -> MemoryStore:
    """Return a store whose log ends at *version*."""
    copy = MemoryStore()
    log = copy.log("default")
    for record, payloads in store.log("default").read(upto=version):
        log.append([record], payloads, after=log.head())
    return copy


def all_queries(view: SyncMemory | SyncView) -> dict[str, Any]:
    """Return the answers to all queries of a view."""
    blocks = view.blocks(limit=1000).items
    ask: Any = view.recall
    if isinstance(view, SyncMemory):
        ask = lambda *given, **more: view.recall(*given, record=False, **more)  # noqa: E731
    return {
        "status": evolve(view.status(), exact=True, search=None),
        "blocks": blocks,
        "one by one": [view.block(block.id) for block in blocks],
        "edges": [view.edges(block.id) for block in blocks],
        "near": view.near_duplicates(),
        "pending": view.pending_connections(),
        "log": view.log(limit=1000),
        "history": view.history(limit=1000),
        "behind": [view.history(of=block.id) for block in blocks],
        "asked": [ask("harbour gate crane", frame=frame, top_k=50) for frame in available(view)],
        "unasked": [ask(frame=frame, top_k=50) for frame in available(view)],
        "filtered": ask("harbour", where={"tags": "harbour", "since": "2025-12-01"}),
    }


def available(view: SyncMemory | SyncView) -> tuple[str, ...]:
    return tuple(frame for frame in FRAMES if frame in view.status().frames)


# --- as of is truncation ------------------------------------------------------------------------


def test_the_busy_history_has_every_event_kind_but_erasure(opened: Open, busy: Busy) -> None:
    memory = opened()
    busy(memory)
    assert {moment.kind for moment in memory.log(limit=1000)} == {
        "block-forgotten",
        "block-learned",
        "block-restated",
        "block-rezoned",
        "block-superseded",
        "blocks-promoted",
        "blocks-relinked",
        "curated",
        "edge-connected",
        "edge-deferred",
        "edge-disconnected",
        "embedder-adopted",
        "outcome-recorded",
        "policy-adopted",
        "recall-recorded",
        "session-ended",
        "session-started",
        "space-opened",
    }
    assert memory.status().archived > 1
    assert memory.status().pending_connections > 0


@pytest.mark.extended
def test_a_view_equals_the_state_of_the_truncated_log(
    opened: Open, store: MemoryStore, busy: Busy, clock: ManualClock
) -> None:
    memory = opened()
    busy(memory)
    head = memory.status().version
    for version in range(head + 1):
        shorter = opened(cut(store, version), read_only=True)
        assert all_queries(memory.as_of(version=version)) == all_queries(
            shorter.as_of(version=version)
        )
        now = datetime.fromtimestamp(clock.now_us() / 1e6, tz=UTC)
        assert all_queries(memory.as_of(version=version, now=now)) == all_queries(shorter)


def test_a_view_at_an_hour_or_instant_equals_the_state_of_the_truncated_log(
    opened: Open, store: MemoryStore, busy: Busy
) -> None:
    memory = opened()
    busy(memory)
    moments = memory.log(limit=1000)
    for hour in sorted({moment.hour for moment in moments}):
        view = memory.as_of(hour=hour)
        assert view.version == max(each.version for each in moments if each.hour <= hour)
        shorter = opened(cut(store, view.version), read_only=True)
        assert all_queries(view) == all_queries(shorter.as_of(hour=hour))
        between = memory.as_of(hour=hour + 1e-4)
        assert all_queries(between) == all_queries(shorter.as_of(hour=hour + 1e-4))
    for at in sorted({moment.recorded_at for moment in moments}):
        view = memory.as_of(at=at)
        assert view.version == max(each.version for each in moments if each.recorded_at <= at)
        shorter = opened(cut(store, view.version), read_only=True)
        assert all_queries(view) == all_queries(shorter.as_of(at=at))


def test_a_view_is_unaffected_by_later_events(opened: Open, busy: Busy) -> None:
    memory = opened()
    memory.learn("the harbour has a gate", tags=["harbour"])
    memory.consolidate()
    view = memory.as_of(version=memory.status().version)
    before = all_queries(view)
    busy(memory)
    assert all_queries(view) == before
    assert all_queries(memory.as_of(version=view.version)) == before


def test_a_view_shows_the_summary_of_its_time(opened: Open) -> None:
    class Summing:
        name = "summing"
        calls = 0

        def analyse(self, passages: Sequence[Passage]) -> list[Analysis]:
            self.calls += 1
            return [Analysis(summary=f"summary {self.calls}") for _ in passages]

    memory = opened(analyst=Summing())
    block = memory.learn("a story").block_id
    memory.consolidate()
    then = memory.status().version
    memory.forget(block)
    memory.learn(" a story")
    waiting = memory.status().version
    memory.consolidate()
    assert memory.block(block).summary_text == "summary 2"
    assert memory.as_of(version=waiting).block(block).summary_text is None
    assert memory.as_of(version=then).block(block).summary_text == "summary 1"


# --- points -------------------------------------------------------------------------------------


def test_an_hour_includes_all_its_events_and_evaluates_decay_at_it(
    opened: Open, clock: ManualClock
) -> None:
    memory = opened(policy=Policy(idle_gap_hours=1000.0))
    memory.start_session()
    block = memory.learn("words").block_id
    memory.consolidate()
    clock.advance(hours=50)
    late = memory.learn("later words").block_id
    memory.learn("last words of that hour")
    half_way = memory.as_of(hour=25)
    assert (half_way.hour, half_way.status().version) == (25.0, late_version(memory, late) - 1)
    assert half_way.block(block).recency == pytest.approx(math.exp(-0.25), abs=1e-9)
    then = memory.as_of(hour=50)
    assert then.version == memory.status().version
    assert then.status().inbox == 2
    beyond = memory.as_of(hour=150)
    assert (beyond.version, beyond.hour) == (then.version, 150.0)
    assert beyond.block(block).recency == pytest.approx(math.exp(-1.5), abs=1e-9)
    assert refused(lambda: half_way.block(late)) == "block-not-found"


def late_version(memory: SyncMemory, block: str) -> int:
    return memory.block(block).learned_version


def test_an_instant_is_the_last_version_recorded_by_then(opened: Open, clock: ManualClock) -> None:
    memory = opened()
    clock.advance(hours=1)
    memory.learn("at one")
    clock.advance(hours=1)
    memory.learn("at two")
    at_one = datetime(2026, 1, 1, 1, tzinfo=UTC)
    assert memory.as_of(at=at_one).version == 2
    assert memory.as_of(at=at_one - timedelta(microseconds=1)).version == 1
    assert memory.as_of(at="2026-01-01T03:00:00+02:00").version == 2
    assert memory.as_of(at="2026-01-01T00:00").version == 1
    assert memory.as_of(at="2026-01-01[UTC]").version == 3
    assert memory.as_of(at="2099-01-01").version == 3


def test_a_decision_is_the_state_it_read(opened: Open, clock: ManualClock) -> None:
    memory = opened(policy=Policy(idle_gap_hours=1000.0))
    memory.start_session()
    memory.learn("the harbour gate", created_at="2025-12-01")
    memory.consolidate()
    before = memory.status().version
    clock.advance(hours=30)
    found = memory.recall("harbour")
    clock.advance(hours=30)
    memory.learn("the harbour crane")
    view = memory.as_of(decision=found.decision_id)
    assert (view.version, view.hour) == (before, 30.0)
    again = view.recall("harbour")
    assert evolve(again, decision_id=found.decision_id) == found
    assert memory.as_of(version=before).hour == 0.0


def test_now_sets_the_instant_for_ages(opened: Open) -> None:
    memory = opened()
    memory.learn("the harbour gate", expires_at="2027-01-01")
    found = memory.recall("harbour", frame="attention")
    points: list[dict[str, Any]] = [
        {"version": 4},
        {"hour": 0.0},
        {"at": "2026-01-01"},
        {"decision": "d5"},
    ]
    for point in points:
        recencies = [
            [
                block.recency_score
                for block in memory.as_of(**point, now=now)
                .recall("harbour", frame="attention")
                .blocks
            ]
            for now in (None, "2026-01-15", datetime(2026, 1, 15, tzinfo=UTC), "2027-01-01")
        ]
        assert recencies == [[1.0], [0.496585304], [0.496585304], []]
    assert found.decision_id == "d5"


def test_the_first_version_is_an_empty_memory(opened: Open, busy: Busy) -> None:
    memory = opened()
    busy(memory)
    view = memory.as_of(version=0)
    assert view.blocks().items == ()
    assert view.recall("harbour").blocks == ()
    assert (view.status().version, view.status().decisions, view.status().exact) == (0, 0, True)
    assert memory.status().exact is False


def test_the_refusal_of_an_early_instant_is_in_readable_time(memory: SyncMemory) -> None:
    with pytest.raises(PointOutOfRange) as caught:
        memory.as_of(at="2020-01-01T09:00")
    assert caught.value.message == (
        "no event was recorded at or before 2020-01-01T09:00:00+00:00; the first one: "
        f"{memory.log(limit=1)[0].recorded_at}"
    )


POINTS: list[tuple[dict[str, Any], str]] = [
    ({"version": -1}, "point-out-of-range"),
    ({"version": 99}, "point-out-of-range"),
    ({"version": 10**30}, "point-out-of-range"),
    ({"version": 1.0}, "field-refused"),
    ({"version": True}, "field-refused"),
    ({"version": "2"}, "field-refused"),
    ({"hour": -0.1}, "point-out-of-range"),
    ({"hour": float("nan")}, "point-out-of-range"),
    ({"hour": float("inf")}, "point-out-of-range"),
    ({"hour": "1"}, "point-out-of-range"),
    ({"hour": True}, "point-out-of-range"),
    ({"at": "2025-12-31T23:59:59.999999"}, "point-out-of-range"),
    ({"at": "0001-01-01"}, "point-out-of-range"),
    ({"at": "some day"}, "field-refused"),
    ({"at": 7}, "field-refused"),
    ({"decision": "d1"}, "decision-not-found"),
    ({"decision": "d99"}, "decision-not-found"),
    ({"decision": "x"}, "decision-not-found"),
    ({"decision": 3}, "decision-not-found"),
    ({}, "field-refused"),
    ({"version": 1, "hour": 0}, "field-refused"),
    ({"version": 1, "now": "whenever"}, "field-refused"),
]


@pytest.mark.parametrize(("point", "code"), POINTS, ids=str)
def test_a_missing_point_is_refused(memory: SyncMemory, point: dict[str, Any], code: str) -> None:
    memory.learn("words")
    assert refused(lambda: memory.as_of(**point)) == code


def test_a_view_has_every_query_and_nothing_that_writes(memory: SyncMemory) -> None:
    view = memory.as_of(version=1)
    writing = {"learn", "connect", "outcome", "curate", "erase", "consolidate", "start_session"}
    asking = {"block", "blocks", "edges", "history", "log", "near_duplicates", "recall", "status"}
    assert writing.isdisjoint(dir(view))
    assert asking <= set(dir(view))


def test_queries_of_the_past_write_nothing_though_blocks_wait(opened: Open, busy: Busy) -> None:
    memory = opened()
    busy(memory)
    before = memory.status()
    assert before.inbox == 1
    all_queries(memory.as_of(version=before.version))
    assert memory.status() == before
