"""Fuzzed calls from a wire: operations, time points, policies, filters, receipts."""

from __future__ import annotations

import json
import math
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.remote import documents as wire
from mnemic.adapters.remote.calls import Call, answered
from mnemic.adapters.remote.errors import document_of
from mnemic.adapters.remote.operations import operations
from mnemic.adapters.remote.time_points import view_named
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.kernel.errors import MnemicError, SpaceErased
from mnemic.kernel.policy import DEFAULT
from tests.fuzz.bounded import Attempt, Target
from tests.fuzz.sample import filled, kept, opened
from tests.fuzz.values import displaced, documents, texts

MODEL_FREE = sorted(set(operations()) - {"reembed", "export", "import_space"})
"""Operations that load no model and write no file."""


def rarely(values: SearchStrategy[Any]) -> SearchStrategy[Any]:
    """Return None, and one of some values now and then."""
    return st.integers(0, 9).flatmap(lambda number: st.none() if number else values)


@st.composite
def calls(draw: st.DrawFn) -> Call:
    """Draw a call of some operation, whose arguments are partly right."""
    operation = operations()[draw(st.sampled_from(MODEL_FREE))]
    given: dict[str, Any] = {}
    for name, each in operation.parameters.items():
        if each.required or not draw(st.integers(0, 3)):
            right = kept().names.get(name, "gate")
            given[name] = right if draw(st.integers(0, 3)) else draw(documents)
    if draw(st.integers(0, 9)) == 0:
        given[draw(texts)] = draw(documents)
    return Call(
        operation=operation.name,
        arguments=given,
        as_of=draw(rarely(texts)),
        now=draw(rarely(texts)),
        command_id=draw(st.none() | st.none() | texts),
    )


SERVERS_FAULT = 500
"""From this status on an error is about the store, not the fault of the caller."""


def ask(memory: SyncMemory, call: Call) -> None:
    """Make a call. A refusal must have changed nothing; the answer must be valid JSON."""
    before = memory.status().version
    try:
        json.dumps(finite(wire.document_of(answered(memory, call))))
    except MnemicError as error:
        if not isinstance(error, SpaceErased):
            assert memory.status().version == before
        json.dumps(refusal(error))
        raise


def refusal(error: MnemicError) -> dict[str, Any]:
    """Return an error as a document, after checking that it is about the call, not the store."""
    assert error.status < SERVERS_FAULT, f"{error!r} is no refusal"
    return document_of(error)


def finite(document: Any) -> Any:
    """Return a document, after checking that JSON can represent it."""
    if isinstance(document, dict):
        return {name: finite(each) for name, each in document.items()}
    if isinstance(document, list | tuple):
        return [finite(each) for each in document]
    assert not isinstance(document, float) or math.isfinite(document)
    return document


@contextmanager
def remembering(_: Path) -> Generator[Attempt]:
    """Open a filled memory for calls; an erased one is filled again."""
    found = [opened(MemoryStore())]
    filled(found[0])

    def attempt(call: Call) -> None:
        try:
            ask(found[0], call)
        finally:
            if call.operation == "erase_space":
                found.pop().close()
                found.append(opened(MemoryStore()))
                filled(found[0])

    yield attempt
    found[0].close()


def one(
    operation: str, name: str, values: SearchStrategy[Any], **others: Any
) -> SearchStrategy[Call]:
    """Return calls of one operation with one argument drawn."""
    return values.map(lambda value: Call(operation=operation, arguments={**others, name: value}))


@contextmanager
def looking_back(_: Path) -> Generator[Attempt]:
    """Open a filled memory for points of its past."""
    with opened(MemoryStore()) as memory:
        filled(memory)

        def attempt(given: tuple[str, str | None]) -> None:
            view_named(memory, *given).status()

        yield attempt


DEFAULT_BODY = wire.document_of(DEFAULT)
KINDS = ("tags", "category", "author", "thread", "metadata", "since", "until")
FILTERS = st.dictionaries(st.sampled_from(KINDS) | texts, documents, max_size=4) | documents
BATCHES: dict[str, tuple[str, dict[str, Any]]] = {
    "learn_many": ("lessons", {"content": "x", "tags": ["a"], "metadata": {"a": [1]}}),
    "connects": ("edges", {"source": "x", "target": "y", "relation": "r", "weight": 0.5}),
    "compose": ("members", {"block_id": "x", "role": "primary", "rank": 1, "metadata": {"a": 1}}),
}


@st.composite
def batches(draw: st.DrawFn) -> Call:
    """Draw a batch of items, each almost right."""
    operation = draw(st.sampled_from(sorted(BATCHES)))
    name, item = BATCHES[operation]
    known = {"x": kept().names["block_id"], "y": kept().names["target"]}
    right = {key: known.get(str(value), value) for key, value in item.items()}
    given = draw(st.lists(st.just(right) | displaced(right) | documents, max_size=4))
    return Call(operation=operation, arguments={name: given})


TARGETS = {
    "calls of every operation": Target(inputs=calls(), opened=remembering),
    "items of batches": Target(inputs=batches(), opened=remembering),
    "policies": Target(
        inputs=one("adopt_policy", "policy", displaced(DEFAULT_BODY)), opened=remembering
    ),
    "filters": Target(inputs=one("recall", "where", FILTERS, query="gate"), opened=remembering),
    "receipts": Target(
        inputs=st.deferred(lambda: one("verify_receipt", "receipt", displaced(kept().receipt))),
        opened=remembering,
    ),
    "points of the past": Target(
        inputs=st.tuples(
            texts
            | st.builds(
                "{}:{}".format, st.sampled_from(["hour", "version", "at", "decision"]), texts
            ),
            st.none() | texts,
        ),
        opened=looking_back,
    ),
}
"""By name."""
