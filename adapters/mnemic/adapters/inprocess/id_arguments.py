"""Short block ids in the arguments of operations, completed before an operation runs.

A block may be named by the first 8 or more characters of its id, as texts and tables show it, with
or without brackets. What begins no id is left as it is: the operation refuses it in its own words.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from functools import wraps
from types import MappingProxyType
from typing import Any, Final, TypeVar

import attrs

from mnemic.adapters.inprocess.queries import Queries, known_ids
from mnemic.adapters.inprocess.registry import declared, members, parameters
from mnemic.adapters.short_ids import bare, completed
from mnemic.kernel.errors import BlockNotFound
from mnemic.kernel.late import late_pattern

Class = TypeVar("Class", bound=type)
Complete = Callable[[str], str]

SHORT: Final = late_pattern(r"\W*[0-9a-fA-F]{8,15}\W*|\W+[0-9a-fA-F]{16}\W*|[0-9a-fA-F]{16}\W+")
"""A text that may be the beginning of an id, or an id in brackets."""
ENDS: Final = frozenset({"source", "target"})
NAMED: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {
        "compare": frozenset({"block_id", "other_id"}),
        "compose": frozenset({"members"}),
        "composed_graph": frozenset({"memory_id"}),
        "connect": ENDS,
        "connects": frozenset({"edges"}),
        "decisions": frozenset({"of"}),
        "descent": frozenset({"selector"}),
        "disconnect": ENDS,
        "erase": frozenset({"block_ids"}),
        "facts": frozenset({"of"}),
        "history": frozenset({"of"}),
        "learn_many": frozenset({"forget"}),
        "ledger": frozenset({"of"}),
        "outcome": frozenset({"block_ids"}),
        "quarantine": frozenset({"selector"}),
        "replay_all": frozenset({"without"}),
        "revert_source": frozenset({"selector"}),
        "sources": frozenset({"of"}),
        "subgraph": frozenset({"block_ids"}),
        "what_if": frozenset({"without"}),
    }
)
"""The arguments of each operation that hold block ids, directly or in nested values.

Operations that are not listed have ``block_id`` alone."""
OTHERS: Final = frozenset({"block_id"})
WITHIN: Final = ENDS | OTHERS
"""The fields of nested values that hold block ids."""
SELECTORS: Final = frozenset({"selector", "without"})
"""Arguments that are selectors, in which ``block`` holds ids, and ``source`` does not."""


def completes_short_ids(of: Class) -> Class:
    """Return a class of operations that accept short ids wherever they accept ids."""
    for name, found in members(of).items():
        if inspect.isfunction(found) and declared(of, name) is not None:
            holding = NAMED.get(name, OTHERS) & set(parameters(found))
            if holding:
                setattr(of, name, _completing(found, holding))
    return of


def _completing(operation: Callable[..., Any], holding: Collection[str]) -> Callable[..., Any]:
    """Return an operation that completes the ids in the arguments named by *holding*."""
    names = parameters(operation)[1:]
    within = {name: frozenset({"block"}) if name in SELECTORS else WITHIN for name in holding}

    @wraps(operation)
    def completing(memory: Queries, *given: Any, **named: Any) -> Any:
        def whole(name: str, value: Any) -> Any:
            fields = within.get(name)
            return value if fields is None else _whole(value, fields, complete)

        def complete(start: str) -> str:
            try:
                return completed(start, known_ids(memory, bare(start)))
            except BlockNotFound:
                return start

        placed = map(whole, names, given)
        answer = {name: whole(name, value) for name, value in named.items()}
        return operation(memory, *placed, *given[len(names) :], **answer)

    return completing


def _whole(value: Any, within: frozenset[str], complete: Complete) -> Any:
    """Return a value with its short ids completed; the same object if it has none."""
    match value:
        case str():
            return complete(value) if SHORT.fullmatch(value) else value
        case Mapping():
            found = {name: value[name] for name in within & value.keys()}
            changed = _changed(found, within, complete)
            return {**value, **changed} if changed else value
        case list() | tuple():
            whole = [_whole(each, within, complete) for each in value]
            is_same = all(one is other for one, other in zip(whole, value, strict=True))
            return value if is_same else whole
        case _ if attrs.has(type(value)):
            found = {name: getattr(value, name) for name in within if hasattr(value, name)}
            changed = _changed(found, within, complete)
            return attrs.evolve(value, **changed) if changed else value
        case _:
            return value


def _changed(
    found: Mapping[str, Any], within: frozenset[str], complete: Complete
) -> dict[str, Any]:
    """Return the entries that differ once their short ids are completed."""
    whole = {name: _whole(each, within, complete) for name, each in found.items()}
    return {name: each for name, each in whole.items() if each is not found[name]}
