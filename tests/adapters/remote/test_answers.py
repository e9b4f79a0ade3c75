"""Real answers as documents: they match their schemas exactly, and are restored completely."""

from __future__ import annotations

import json
from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.adapters.remote.documents import document_of, encoded, restored, result_of
from mnemic.adapters.remote.operations import operations
from mnemic.adapters.remote.schemas import Shapes
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.system.clocks import ManualClock
from mnemic.kernel import results
from mnemic.kernel.errors import MnemicError
from mnemic.kernel.model.identity import BlockId, DecisionId
from mnemic.kernel.results import (
    Backtest,
    ChangedDecision,
    ClaimConflict,
    ContradictedPair,
    Difference,
    Edge,
    EdgeChange,
    ReferencedBlock,
    RefusedFactResult,
    Result,
    Superseded,
    SuspectCount,
)
from mnemic.specs.strategies.vectors import PlaneEmbedder
from tests.adapters.remote.strictness import Check, answer_validator
from tests.agreement.agents import TIGHT, Agent, Command, any_commands

Answers = list[tuple[str, Any]]


def sent(answer: Any) -> Any:
    """Return an answer as a client receives it."""
    return json.loads(encoded(answer))


def test_the_sample_history_calls_every_operation(answers: Answers) -> None:
    assert {operation for operation, _ in answers} == set(operations())


@pytest.mark.parametrize("operation", sorted(operations()))
def test_every_real_answer_fits_its_schema_and_holds_nothing_else(
    operation: str, answers: Answers
) -> None:
    check = answer_validator(operation)
    for document in [sent(answer) for asked, answer in answers if asked == operation]:
        check.validate(document)


@pytest.mark.parametrize("operation", sorted(operations()))
def test_every_real_answer_comes_back_as_it_was(operation: str, answers: Answers) -> None:
    result = [answer for asked, answer in answers if asked == operation]
    assert [result_of(operations()[operation], sent(answer)) for answer in result] == result


def test_the_document_of_a_result_has_the_values_and_the_order_of_its_to_dict(
    answers: Answers,
) -> None:
    results = [part for _, answer in answers for part in parts_of(answer)]
    assert len(results) > len(answers)
    for result in results:
        assert json.dumps(sent(result)) == json.dumps(document_of(result))
        assert json.dumps(sent(result)) == json.dumps(result.to_dict())


def parts_of(answer: Any) -> list[Result]:
    """Return every result within an answer, itself included."""
    if isinstance(answer, tuple | list):
        return [part for each in answer for part in parts_of(each)]
    if not isinstance(answer, Result):
        return []
    inner = [getattr(answer, each.name) for each in attrs.fields(type(answer))]
    return [answer, *(part for each in inner for part in parts_of(each))]


EDGE = Edge(
    source_id=BlockId("0" * 16),
    target_id=BlockId("1" * 16),
    relation="similar",
    weight=0.5,
    effective_weight=0.4,
    origin="similarity",
)
MEMORY = ReferencedBlock(
    id=BlockId("0" * 16),
    preview="…",
    role="primary",
    relevance=1,
    trust=1,
    weight=1,
    zone="trusted",
    source="api",
    actor="agent",
)
BY_HAND: dict[type, Result] = {
    ContradictedPair: ContradictedPair(older=BlockId("0" * 16), newer=BlockId("1" * 16)),
    ClaimConflict: ClaimConflict(block=MEMORY, kind="date", detail="another year"),
    Difference: Difference(
        block_id=BlockId("0" * 16),
        change="left",
        recorded_rank=1,
        recorded_score=0.5,
        replayed_rank=None,
        replayed_score=None,
    ),
    ChangedDecision: ChangedDecision(
        decision_id=DecisionId("d1"), query="tea?", entered=(BlockId("0" * 16),)
    ),
    EdgeChange: EdgeChange(before=EDGE, after=EDGE),
    Superseded: Superseded(block=MEMORY, superseded_by=BlockId("1" * 16)),
    RefusedFactResult: RefusedFactResult(
        reason="question", detail="it asks", text=None, message_ids=(BlockId("0" * 16),)
    ),
    SuspectCount: SuspectCount(suspect="state", decisions=1),
}
"""Results that the sample history does not contain."""


def test_every_class_of_results_is_restored_from_its_document(answers: Answers) -> None:
    lived = {type(part): part for _, answer in answers for part in parts_of(answer)}
    found = {**BY_HAND, **lived}
    named = (getattr(results, name) for name in results.__all__)
    classes = {each for each in named if isinstance(each, type) and issubclass(each, Result)}
    assert classes - set(found) == {Result, Backtest}  # the class that plots itself occurs
    assert {each: restored(each, sent(part)) for each, part in found.items()} == found


def test_schemas_are_sound() -> None:
    shapes = Shapes()
    for operation in operations().values():
        Check.check_schema(shapes.arguments(operation))
        Check.check_schema(shapes.answer(operation))
    for component in shapes.components.values():
        Check.check_schema(component)


def test_unknown_fields_of_a_newer_server_are_ignored() -> None:
    learned = results.LearnResult(block_id=BlockId("0" * 16), action="x", version=1)
    document = {**learned.to_dict(), "mood": "fine"}
    assert result_of(operations()["learn"], document) == learned


@settings(max_examples=settings().max_examples // 4)
@given(played=st.lists(any_commands(), min_size=5, max_size=25))
def test_answers_of_random_histories_fit_and_come_back(played: list[Command]) -> None:
    store, clock = MemoryStore(), ManualClock()
    agent = Agent("ann", store, embedder=PlaneEmbedder(), clock=clock, policy=TIGHT)
    try:
        for number, command in enumerate(played):
            known = [each.id for each in agent.memory.blocks(limit=1000).items]
            call = agent.call(command, known, [])
            for answer in [] if call is None else answered(call, str(number)):
                assert restored(type(answer), sent(answer)) == answer
                _fits(answer)
    finally:
        agent.memory.close()
        store.close()


def answered(call: Any, command_id: str) -> list[Result]:
    """Return the results of a command, if it succeeds."""
    try:
        answer = call(command_id)
    except MnemicError:
        return []
    return [answer] if isinstance(answer, Result) else []


def _fits(answer: Result) -> None:
    operation = next(name for name, each in operations().items() if each.returns is type(answer))
    answer_validator(operation).validate(sent(answer))
