"""Real answers as documents: they fit their schemas to the last field, and come back whole."""

from __future__ import annotations

import json
from typing import Any

import attrs
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.adapters.clocks import ManualClock
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.wire.documents import document_of, restored, result_of
from mnemic.adapters.wire.shapes import Shapes
from mnemic.adapters.wire.verbs import verbs
from mnemic.kernel import results
from mnemic.kernel.errors import MnemicError
from mnemic.kernel.identity import BlockId
from mnemic.kernel.results import (
    Backtest,
    ClaimConflict,
    Difference,
    Edge,
    EdgeChange,
    ReferencedBlock,
    Result,
    Superseded,
    SuspectCount,
)
from mnemic.specs.strategies.vectors import PlaneEmbedder
from tests.adapters.wire.strictness import Check, answer_validator
from tests.agreement.agents import TIGHT, Agent, Command, any_commands

Answers = list[tuple[str, Any]]


def sent(answer: Any) -> Any:
    """Return an answer as it arrives at the other end of a wire."""
    return json.loads(orjson.dumps(document_of(answer)))


def test_a_life_asks_every_verb(answers: Answers) -> None:
    assert {verb for verb, _ in answers} == set(verbs())


@pytest.mark.parametrize("verb", sorted(verbs()))
def test_every_real_answer_fits_its_schema_and_holds_nothing_else(
    verb: str, answers: Answers
) -> None:
    check = answer_validator(verb)
    for document in [sent(answer) for asked, answer in answers if asked == verb]:
        check.validate(document)


@pytest.mark.parametrize("verb", sorted(verbs()))
def test_every_real_answer_comes_back_as_it_was(verb: str, answers: Answers) -> None:
    told = [answer for asked, answer in answers if asked == verb]
    assert [result_of(verbs()[verb], sent(answer)) for answer in told] == told


def parts_of(answer: Any) -> list[Result]:
    """Return every result inside of an answer, itself included."""
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
    id=BlockId("0" * 16), preview="…", role="primary", relevance=1, trust=1, weight=1
)
BY_HAND: dict[type, Result] = {
    ClaimConflict: ClaimConflict(block=MEMORY, kind="date", detail="another year"),
    Difference: Difference(
        block_id=BlockId("0" * 16),
        change="left",
        recorded_rank=1,
        recorded_score=0.5,
        replayed_rank=None,
        replayed_score=None,
    ),
    EdgeChange: EdgeChange(before=EDGE, after=EDGE),
    Superseded: Superseded(block=MEMORY, superseded_by=BlockId("1" * 16)),
    SuspectCount: SuspectCount(suspect="state", decisions=1),
}
"""What no sound life shows, or a longer one."""


def test_every_class_of_results_is_restored_from_its_document(answers: Answers) -> None:
    lived = {type(part): part for _, answer in answers for part in parts_of(answer)}
    found = {**BY_HAND, **lived}
    named = (getattr(results, name) for name in results.__all__)
    classes = {each for each in named if isinstance(each, type) and issubclass(each, Result)}
    assert classes - set(found) == {Result, Backtest}  # the one that plots itself is lived
    assert {each: restored(each, sent(part)) for each, part in found.items()} == found


def test_schemas_are_sound() -> None:
    shapes = Shapes()
    for verb in verbs().values():
        Check.check_schema(shapes.arguments(verb))
        Check.check_schema(shapes.answer(verb))
    for component in shapes.components.values():
        Check.check_schema(component)


def test_what_a_newer_server_adds_is_left_out() -> None:
    learned = results.LearnResult(block_id=BlockId("0" * 16), action="x", version=1)
    document = {**learned.to_dict(), "mood": "fine"}
    assert result_of(verbs()["learn"], document) == learned


@settings(max_examples=15, deadline=None, derandomize=True)
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
    """Return what a command is answered, if it is."""
    try:
        answer = call(command_id)
    except MnemicError:
        return []
    return [answer] if isinstance(answer, Result) else []


def _fits(answer: Result) -> None:
    verb = next(name for name, each in verbs().items() if each.returns is type(answer))
    answer_validator(verb).validate(sent(answer))
