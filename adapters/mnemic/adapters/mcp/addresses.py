"""Expansion of short ids: texts name blocks by 8 characters, and agents may send those back."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from attrs import evolve

from mnemic.adapters.inprocess.memory import Memory
from mnemic.adapters.inprocess.queries import known_ids
from mnemic.adapters.remote.calls import Call
from mnemic.adapters.short_ids import completed
from mnemic.kernel.errors import BlockNotFound
from mnemic.kernel.model.identity import BlockId

SHORT = re.compile(r"\W*[0-9a-fA-F]{8,15}\W*")
"""A text that may be the beginning of an id, possibly in brackets."""
ENDS = frozenset({"source", "target"})
NAMED: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "compare": frozenset({"block_id", "other_id"}),
        "compose": frozenset({"members"}),
        "composed_graph": frozenset({"memory_id"}),
        "connect": ENDS,
        "connects": frozenset({"edges"}),
        "descent": frozenset({"selector"}),
        "disconnect": ENDS,
        "erase": frozenset({"block_ids"}),
        "history": frozenset({"of"}),
        "ledger": frozenset({"of"}),
        "outcome": frozenset({"block_ids"}),
        "quarantine": frozenset({"selector"}),
        "replay_all": frozenset({"without"}),
        "revert_source": frozenset({"selector"}),
        "what_if": frozenset({"without"}),
    }
)
"""The arguments of each operation that hold block ids, directly or in nested values.

Operations that are not listed have ``block_id`` alone."""
OTHERS = frozenset({"block_id"})
WITHIN = ENDS | OTHERS
"""The fields of nested values that hold block ids."""
SELECTORS = frozenset({"selector", "without"})
"""Arguments that are selectors, in which ``block`` holds ids, and ``source`` does not."""


async def expanded(memory: Memory, call: Call) -> Call:
    """Return the call with its short block ids expanded to full ids.

    A short id that matches no block is left unchanged: the operation reports it with its own error.

    Raises:
        IdAmbiguous: Several blocks have an id that begins with the short id.
    """
    names = NAMED.get(call.operation, OTHERS)
    given = {name: value for name, value in call.arguments.items() if name in names}
    if not any(_is_short(value, _within(name)) for name, value in given.items()):
        return call
    ids = await memory.run(known_ids)
    whole = {name: _whole(value, ids, _within(name)) for name, value in given.items()}
    return evolve(call, arguments={**call.arguments, **whole})


def _within(name: str) -> frozenset[str]:
    """Return the fields of an argument that hold block ids, if its values are nested."""
    return frozenset({"block"}) if name in SELECTORS else WITHIN


def _is_short(value: Any, within: frozenset[str]) -> bool:
    match value:
        case str():
            return SHORT.fullmatch(value) is not None
        case Mapping():
            return any(_is_short(value[name], within) for name in within & value.keys())
        case list() | tuple():
            return any(_is_short(each, within) for each in value)
        case _:
            return False


def _whole(value: Any, ids: Sequence[BlockId], within: frozenset[str]) -> Any:
    match value:
        case str() if _is_short(value, within):
            try:
                return completed(value, ids)
            except BlockNotFound:
                return value
        case Mapping():
            whole = {name: _whole(value[name], ids, within) for name in within & value.keys()}
            return {**value, **whole}
        case list() | tuple():
            return [_whole(each, ids, within) for each in value]
        case _:
            return value
