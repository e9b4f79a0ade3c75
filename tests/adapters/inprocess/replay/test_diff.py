"""diff: differences between an earlier point and a later one."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.inprocess.time_points import Point
from mnemic.adapters.system.clocks import ManualClock
from mnemic.kernel.errors import DecisionNotFound, FieldRefused, PointOutOfRange
from mnemic.kernel.policy import Policy
from mnemic.kernel.results import DiffResult, RecallResult

Busy = Callable[[SyncMemory], list[RecallResult]]


def head(memory: SyncMemory) -> int:
    return memory.status().version


def found(result: DiffResult) -> dict[str, int]:
    """Return the lengths of the lists that are not empty."""
    return {name: count for name, count in result.totals.items() if count}


def test_a_diff_lists_every_kind_of_change(memory: SyncMemory, clock: ManualClock) -> None:
    memory.start_session()
    gate, crane, gulls = (
        memory.learn(words, category="message").block_id
        for words in ("the gate opens at six", "the crane needs oil", "gulls were loud")
    )
    memory.consolidate()
    memory.connect(gate, crane, "supports")
    lane = memory.compose([gate, crane]).composition_id
    wrong = memory.label(lane, "dead_end").label_id
    monday = head(memory)
    clock.advance(minutes=50)
    memory.connect(gate, crane)
    memory.outcome([gate], 0.75)
    memory.rezone(crane, "vetted")
    memory.forget(gulls)
    late = memory.revise(gate, "the gate opens at seven").block_id
    memory.consolidate()
    memory.label(lane, "accepted")
    memory.retract_label(wrong)
    memory.adopt_policy(Policy(name="narrow", degree_cap=4))
    second = memory.compose([late, crane]).composition_id
    memory.recall("gate")
    answer = memory.diff(monday)
    assert found(answer) == {
        "learned": 1,
        "promoted": 1,
        "superseded": 1,
        "archived": 1,
        "rezoned": 1,
        "edges_formed": 1,
        "edges_removed": 1,
        "evidence": 1,
        "compositions": 1,
        "labels_set": 1,
        "labels_retracted": 1,
        "policies": 1,
    }
    assert [block.id for block in (*answer.learned, *answer.promoted)] == [late, late]
    assert [(block.id, block.superseded_by) for block in answer.superseded] == [(gate, late)]
    assert [(block.id, block.archive_reason) for block in answer.archived] == [(gulls, "forgotten")]
    assert [(each.block.id, each.before, each.after) for each in answer.rezoned] == [
        (crane, "trusted", "vetted")
    ]
    assert [(edge.source_id, edge.target_id) for edge in answer.edges_formed] == [(late, crane)]
    assert [(edge.source_id, edge.target_id) for edge in answer.edges_removed] == [(gate, crane)]
    assert [(each.block_id, each.gained_for, each.gained_against) for each in answer.evidence] == [
        (late, 0.75, 0.25)
    ]
    assert answer.compositions == (second,)
    assert [each.label for each in (*answer.labels_set, *answer.labels_retracted)] == [
        "accepted",
        "dead_end",
    ]
    (step,) = answer.policies
    assert (step.name, dict(step.changes)) == (
        "narrow",
        {"name": ("mnemic-1", "narrow"), "degree_cap": (10, 4)},
    )
    assert (answer.sessions, answer.decisions, answer.outcomes, answer.embedder) == (0, 1, 1, None)
    assert answer.after.version == head(memory)


def test_edges_fade_and_are_used(memory: SyncMemory, clock: ManualClock) -> None:
    memory.start_session()
    ids = [
        memory.learn(f"note {place}", category="message", tags=["a"]).block_id for place in range(4)
    ]
    memory.consolidate()
    memory.outcome(ids[:2], 1.0)
    memory.outcome(ids[2:], 1.0)
    before = head(memory)
    clock.advance(minutes=59)
    memory.outcome(ids[:2], 1.0)
    answer = memory.diff(before)
    assert {(each.after.source_id, each.after.target_id) for each in answer.edges_changed} == {
        (edge.source_id, edge.target_id)
        for edge in memory.edges(ids[0])
        if edge.reinforcement_count
    }
    for change in answer.edges_faded:
        assert change.before.effective_weight > change.after.effective_weight
        assert change.before.weight == change.after.weight
    losses = [
        each.before.effective_weight - each.after.effective_weight for each in answer.edges_faded
    ]
    assert losses == sorted(losses, reverse=True) != []


def test_a_point_compared_with_itself_shows_nothing(memory: SyncMemory, busy: Busy) -> None:
    busy(memory)
    version = head(memory)
    answer = memory.diff(version, version)
    assert (found(answer), dict(answer.events), answer.embedder) == ({}, {}, None)
    assert answer.summary.endswith("nothing changed.")


def test_edges_fade_with_active_hours_alone(memory: SyncMemory, busy: Busy) -> None:
    busy(memory)
    hour = memory.status().hour
    answer = memory.diff(f"{hour}h", f"{hour + 30}h")
    assert set(found(answer)) == {"edges_faded"}


def test_a_change_of_embedder_is_named(memory: SyncMemory) -> None:
    memory.learn("x")
    memory.consolidate()
    before = head(memory)
    memory.reembed(HashEmbedder(12))
    assert memory.diff(before).embedder == ("hash/english-1 (64-d)", "hash/english-1 (12-d)")
    assert memory.diff(1, before).embedder == (None, "hash/english-1 (64-d)")


def test_every_form_of_a_point_is_accepted(memory: SyncMemory, busy: Busy) -> None:
    decision = busy(memory)[1].decision_id
    assert decision is not None
    read = memory.as_of(decision=decision)
    points: list[Point] = [
        read.version,
        str(read.version),
        f" {decision} ",
        decision,
        memory.as_of(version=read.version).status().recorded_at or "",
        datetime(2026, 1, 1, 0, 50, tzinfo=UTC),
        f"{read.hour + 1e-6}h",
    ]
    versions = [memory.diff(point).before.version for point in points]
    assert versions[:4] == [read.version] * 4
    assert all(version >= 0 for version in versions)
    assert memory.diff("now").before == memory.diff(0, "now").after


def test_lists_are_truncated_and_counted(memory: SyncMemory) -> None:
    memory.learn_many([f"note {place}" for place in range(7)])
    answer = memory.diff(1, limit=3)
    assert (len(answer.learned), answer.totals["learned"]) == (3, 7)


@pytest.mark.parametrize(
    ("points", "refusal"),
    [
        ((3, 2), FieldRefused),
        ((1, 999), PointOutOfRange),
        ((-1, 2), PointOutOfRange),
        (("99999h", 2), FieldRefused),
        (("d0",), DecisionNotFound),
        (("1999-01-01",), PointOutOfRange),
        (("soon",), FieldRefused),
        ((True,), FieldRefused),
        ((1.5,), FieldRefused),
        ((None,), FieldRefused),
    ],
)
def test_invalid_or_reversed_points_are_refused(
    memory: SyncMemory, points: tuple[Point, ...], refusal: type[Exception]
) -> None:
    memory.learn_many(["a", "b", "c"])
    with pytest.raises(refusal):
        memory.diff(*points)


def test_the_refusal_of_an_unreadable_point_lists_the_forms(memory: SyncMemory) -> None:
    with pytest.raises(FieldRefused) as refused:
        memory.diff("soon")
    assert '"12.5h"' in refused.value.recovery
    assert refused.value.facts == {"field": "before"}


def test_a_view_compares_up_to_itself(memory: SyncMemory, busy: Busy) -> None:
    busy(memory)
    view = memory.as_of(version=20)
    assert view.diff(5) == memory.diff(5, 20)
    with pytest.raises(PointOutOfRange):
        view.diff(5, 21)


def test_a_result_is_plain_json_and_one_line(memory: SyncMemory, busy: Busy) -> None:
    busy(memory)
    answer = memory.diff(2, limit=2)
    assert answer.to_dict()["learned"][0] == answer.learned[0].to_dict()
    assert str(answer).startswith("From version 2 at 0.00 h to version ")
    assert "\n" not in str(answer)
