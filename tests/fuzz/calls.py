"""Calls as they come in from a wire: verbs, points of the past, policies, filters, receipts."""

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
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.wire import documents as wire
from mnemic.adapters.wire.calls import Call, answered
from mnemic.adapters.wire.points import view_named
from mnemic.adapters.wire.problems import document_of
from mnemic.adapters.wire.verbs import verbs
from mnemic.kernel.errors import MnemicError, SpaceErased
from mnemic.kernel.policy import DEFAULT
from tests.fuzz.bounded import Attempt, Target
from tests.fuzz.sample import filled, kept, opened
from tests.fuzz.values import displaced, documents, texts

MODEL_FREE = sorted(set(verbs()) - {"reembed", "export", "import_space"})
"""Verbs that load no model and write no file."""


def rarely(values: SearchStrategy[Any]) -> SearchStrategy[Any]:
    """Return None, and one of some values now and then."""
    return st.integers(0, 9).flatmap(lambda number: st.none() if number else values)


@st.composite
def calls(draw: st.DrawFn) -> Call:
    """Draw a call of some verb, whose arguments are partly right."""
    verb = verbs()[draw(st.sampled_from(MODEL_FREE))]
    given: dict[str, Any] = {}
    for name, each in verb.parameters.items():
        if each.required or not draw(st.integers(0, 3)):
            right = kept().names.get(name, "gate")
            given[name] = right if draw(st.integers(0, 3)) else draw(documents)
    if draw(st.integers(0, 9)) == 0:
        given[draw(texts)] = draw(documents)
    return Call(
        verb=verb.name,
        arguments=given,
        as_of=draw(rarely(texts)),
        now=draw(rarely(texts)),
        command_id=draw(st.none() | st.none() | texts),
    )


SERVERS_FAULT = 500
"""From this status on an error is about the store, and none of a caller's making."""


def ask(memory: SyncMemory, call: Call) -> None:
    """Make a call. Refused, it must have changed nothing; either way it must be tellable."""
    before = memory.status().version
    try:
        json.dumps(finite(wire.document_of(answered(memory, call))))
    except MnemicError as error:
        if not isinstance(error, SpaceErased):
            assert memory.status().version == before
        json.dumps(refusal(error))
        raise


def refusal(error: MnemicError) -> dict[str, Any]:
    """Return what an error tells, having seen that it is about the call and not the store."""
    assert error.status < SERVERS_FAULT, f"{error!r} is no refusal"
    return document_of(error)


def finite(document: Any) -> Any:
    """Return a document, having seen that it holds what JSON can say."""
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
            if call.verb == "erase_space":
                found.pop().close()
                found.append(opened(MemoryStore()))
                filled(found[0])

    yield attempt
    found[0].close()


def one(verb: str, name: str, values: SearchStrategy[Any], **others: Any) -> SearchStrategy[Call]:
    """Return calls of one verb with one argument drawn."""
    return values.map(lambda value: Call(verb=verb, arguments={**others, name: value}))


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
    verb = draw(st.sampled_from(sorted(BATCHES)))
    name, item = BATCHES[verb]
    known = {"x": kept().names["block_id"], "y": kept().names["target"]}
    right = {key: known.get(str(value), value) for key, value in item.items()}
    given = draw(st.lists(st.just(right) | displaced(right) | documents, max_size=4))
    return Call(verb=verb, arguments={name: given})


TARGETS = {
    "calls of every verb": Target(inputs=calls(), opened=remembering),
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
