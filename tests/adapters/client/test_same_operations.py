"""The client has exactly the operations of a memory in the process, with the same parameters."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, assert_type

import pytest

from mnemic.adapters import client, inprocess
from mnemic.kernel.results import Block, LearnResult, LogEntry, ResultList

OPENING = {"open"}
"""One names a file, the other a server."""
HANDLES = {"session_handle"}
"""A server session handles its callers by their tokens: another caller opens another client."""
REMOTE = {"ask", "events"}
"""What only a client has: operations by their names, and the log as it grows."""
OTHERWISE = {"import_space": {"into"}, "reembed": {"embedder"}}
"""Parameters that differ: a store is a server, and an embedder may be a name."""
PAIRS = {
    "SyncMemory": (client.SyncMemory, inprocess.SyncMemory),
    "SyncView": (client.SyncView, inprocess.SyncView),
    "Memory": (client.Memory, inprocess.Memory),
    "View": (client.View, inprocess.View),
}


def public(of: type) -> set[str]:
    return {name for name in dir(of) if not name.startswith("_")}


def parameters(of: type, name: str) -> list[tuple[Any, ...]]:
    """Return the parameters of an operation, and what it returns; of a property, that alone."""
    found: Any = inspect.getattr_static(of, name)
    call: Callable[..., Any] = getattr(found, "fget", None) or getattr(of, name)
    signature = inspect.signature(call)
    otherwise = OTHERWISE.get(name, set())
    answer = [
        (each.name, each.kind, each.default, None if each.name in otherwise else each.annotation)
        for each in signature.parameters.values()
    ]
    return [*answer, ("return", signature.return_annotation)]


@pytest.mark.parametrize("face", PAIRS)
def test_the_client_has_exactly_the_operations_of_the_process(face: str) -> None:
    here, there = PAIRS[face]
    fields = {"version", "hour"} if face.endswith("View") else set[str]()
    helpers = {"run"}  # of the async face in the process
    assert public(here) | fields == (public(there) - HANDLES - helpers) | REMOTE - (
        {"events"} if face.endswith("View") else set()
    )


OPERATIONS = [
    (face, name)
    for face, (here, there) in PAIRS.items()
    for name in sorted(public(here) & public(there) - OPENING)
    if (face, name) != ("Memory", "as_of") and callable(getattr(there, name))
]


@pytest.mark.parametrize(("face", "name"), OPERATIONS, ids="-".join)
def test_an_operation_has_the_signature_of_the_process(face: str, name: str) -> None:
    here, there = PAIRS[face]
    assert parameters(here, name) == parameters(there, name)
    assert inspect.iscoroutinefunction(getattr(here, name)) == inspect.iscoroutinefunction(
        getattr(there, name)
    )


def test_the_async_memory_takes_the_points_that_the_other_takes() -> None:
    assert parameters(client.Memory, "as_of")[:-1] == parameters(inprocess.SyncMemory, "as_of")[:-1]


def test_the_docstring_of_an_operation_is_that_of_the_process() -> None:
    assert client.SyncMemory.learn.__doc__ == inprocess.SyncMemory.learn.__doc__


def test_checkers_see_the_results_of_the_process(memory: client.SyncMemory) -> None:
    block = assert_type(memory.learn("the gate opens at six"), LearnResult).block_id
    view = memory.as_of(version=2)
    assert assert_type(view.block(block), Block) == assert_type(memory.block(block), Block)
    assert assert_type(memory.log(limit=1), ResultList[LogEntry])[0].version == 0
