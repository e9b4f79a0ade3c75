"""what_if: a past decision compared with its answer under changed inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import pytest
from attrs import evolve

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.kernel.errors import (
    DecisionNotFound,
    DecisionSealed,
    EmbedderMismatch,
    FieldRefused,
    FrameUnknown,
    PolicyRefused,
)
from mnemic.kernel.policy import DEFAULT, Frame
from mnemic.kernel.results import RecallResult

Open: TypeAlias = Callable[..., SyncMemory]
Busy: TypeAlias = Callable[[SyncMemory], list[RecallResult]]

BY_USE = evolve(
    DEFAULT,
    name="by-use",
    frames=(
        Frame(name="attention", usefulness=1.0),
        *(frame for frame in DEFAULT.frames if frame.name != "attention"),
    ),
)
"""What served before counts, and nothing else."""


@pytest.fixture
def harbour(memory: SyncMemory) -> SyncMemory:
    """A memory in which the worst match for a gate has served best."""
    for content in ("the harbour gate", "the harbour crane", "a lamp at the harbour wall"):
        memory.learn(content)
    memory.consolidate()
    lamp = memory.recall("lamp wall", record=False).block_ids[0]
    memory.outcome([lamp], 0.7)
    return memory


def test_another_policy_on_the_same_state(harbour: SyncMemory) -> None:
    found = harbour.recall("harbour gate", frame="attention", top_k=1)
    result = harbour.what_if(str(found.decision_id), policy=BY_USE)
    assert result.recorded == found
    assert result.answer.blocks[0].content == "a lamp at the harbour wall"
    assert result.answer.decision_id is None
    assert result.answer.policy_id == BY_USE.id
    assert result.supposed == ("policy",)
    assert (result.version, result.hour) == (found.version, found.hour)
    assert result.entered == (result.answer.block_ids[0],)
    assert result.left == found.block_ids
    entered = result.moves[0]
    assert (entered.change, entered.rank_before, entered.rank_after) == ("entered", None, 1)
    assert entered.score_after == result.answer.blocks[0].score
    assert entered.score_before is not None
    gate = result.moves[1]
    assert gate.score_after is not None
    assert entered.score_after is not None
    assert entered.score_after > gate.score_after
    apart = {shift.name: shift.apart for shift in entered.shifts}
    # Usefulness favoured the lamp, and the signals that had favoured the gate were dropped.
    assert apart["usefulness"] > 0
    assert apart["relevance"] > 0
    sizes = [abs(shift.apart) for shift in entered.shifts]
    assert sizes == sorted(sizes, reverse=True)
    assert "1 entered, 1 left, 0 moved" in result.summary
    assert "set apart most by relevance" in result.summary


def test_shifts_add_up_to_the_difference_of_the_scores(harbour: SyncMemory) -> None:
    found = harbour.recall("harbour gate")
    result = harbour.what_if(str(found.decision_id), policy=BY_USE)
    for move in result.moves:
        assert move.score_before is not None
        assert move.score_after is not None
        total = sum(shift.delta for shift in move.shifts)
        assert total == pytest.approx(move.score_after - move.score_before, abs=1e-8)


def test_the_policy_that_was_in_force_changes_nothing(harbour: SyncMemory) -> None:
    found = harbour.recall("harbour gate", explore=1.0)
    result = harbour.what_if(str(found.decision_id), policy=harbour.policy)
    assert result.recorded == found
    assert result.answer == evolve(found, decision_id=None)
    assert {move.change for move in result.moves} == {"stayed"}
    assert result.summary.endswith("the same 3 blocks in the same order.")


def test_another_question_frame_or_limit(harbour: SyncMemory) -> None:
    harbour.learn("be kind", tags=["self/value"])
    found = harbour.recall("harbour gate")
    identifier = str(found.decision_id)
    view = harbour.as_of(decision=identifier)
    asked = harbour.what_if(identifier, query="  crane ")
    assert asked.answer == view.recall("crane")
    assert asked.answer.blocks[0].content == "the harbour crane"
    assert harbour.what_if(identifier, query="").answer == view.recall()
    assert harbour.what_if(identifier, frame="self").answer == view.recall(
        "harbour gate", frame="self"
    )
    fewer = harbour.what_if(identifier, top_k=1)
    assert (fewer.answer.block_ids, len(fewer.left)) == (found.block_ids[:1], 2)
    both = harbour.what_if(identifier, policy=BY_USE, top_k=1, query="gate")
    assert both.supposed == ("policy", "query", "top_k")


def test_what_if_excludes_later_events_and_writes_nothing(harbour: SyncMemory) -> None:
    found = harbour.recall("harbour gate")
    before = harbour.what_if(str(found.decision_id), policy=BY_USE)
    harbour.outcome(list(found.block_ids[:1]), 1.0, weight=50.0)
    harbour.learn("the harbour gate is painted green")
    harbour.adopt_policy(evolve(DEFAULT, name="wide", top_k=9))
    harbour.consolidate()
    version = harbour.status().version
    assert harbour.what_if(str(found.decision_id), policy=BY_USE) == before
    assert harbour.status().version == version


def test_what_if_works_for_every_decision_of_a_busy_history(opened: Open, busy: Busy) -> None:
    memory = opened()
    for found in busy(memory):
        result = memory.what_if(str(found.decision_id), policy=DEFAULT, top_k=3)
        assert result.recorded == found
        assert len(result.moves) == len({*found.block_ids, *result.answer.block_ids})
        assert result.to_dict()["moves"] == [move.to_dict() for move in result.moves]
        assert result.warnings == ()


def test_a_block_that_was_not_a_candidate_is_reported(opened: Open) -> None:
    memory = opened(policy=evolve(DEFAULT, name="narrow", candidates=1, expansions=0))
    for content in ("gate", "crane", "lamp"):
        memory.learn(content)
    found = memory.recall("gate")
    result = memory.what_if(str(found.decision_id), query="lamp")
    causes = {move.content: move.cause for move in result.moves}
    assert causes["gate"] == "it is no longer a candidate"
    assert causes["lamp"] == "it was not a candidate before"


@pytest.mark.parametrize(
    ("supposed", "refusal"),
    [
        ({}, FieldRefused),
        ({"policy": "loose"}, PolicyRefused),
        ({"policy": {"top_k": 3}}, PolicyRefused),
        ({"top_k": 0}, FieldRefused),
        ({"top_k": True}, FieldRefused),
        ({"query": 3}, FieldRefused),
        ({"frame": "nowhere"}, FrameUnknown),
    ],
)
def test_invalid_changes_are_refused(
    harbour: SyncMemory, supposed: dict[str, Any], refusal: type[Exception]
) -> None:
    found = harbour.recall("harbour gate")
    with pytest.raises(refusal):
        harbour.what_if(str(found.decision_id), **supposed)


def test_what_if_refuses_ids_other_than_decisions(harbour: SyncMemory) -> None:
    with pytest.raises(DecisionNotFound):
        harbour.what_if("d1", top_k=1)


def test_a_sealed_decision_is_refused_with_a_recovery(harbour: SyncMemory) -> None:
    found = harbour.recall("harbour gate")
    harbour.erase(found.block_ids[1])
    with pytest.raises(DecisionSealed) as caught:
        harbour.what_if(str(found.decision_id), top_k=1)
    assert caught.value.code == "decision-sealed"
    assert "replay()" in caught.value.recovery


def test_a_new_question_needs_the_model_of_that_time(opened: Open, harbour: SyncMemory) -> None:
    found = harbour.recall("harbour gate")
    harbour.reembed(HashEmbedder(32))
    later = opened(embedder=HashEmbedder(32))
    identifier = str(found.decision_id)
    with pytest.raises(EmbedderMismatch) as caught:
        later.what_if(identifier, query="crane")
    assert "leave out query" in caught.value.recovery
    able = opened(embedder=HashEmbedder(32), embedders=[HashEmbedder()])
    assert able.what_if(identifier, query="crane").recorded == found
    # The recorded question needs no model at all.
    assert later.what_if(identifier, policy=BY_USE).recorded == found
