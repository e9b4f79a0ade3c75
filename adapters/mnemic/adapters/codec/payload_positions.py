"""Positions of payloads in an event.

In a body, a mark replaces each payload. This module finds the positions in a class from
its annotations, once, and then visits them in order: fields as declared, members of a tuple one
after the other. The n-th position that holds something is slot n.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from types import NoneType
from typing import Any, cast, get_args

import attrs
from attrs import frozen

from mnemic.kernel.model.texts import Erased, Payload
from mnemic.kernel.values import Value

Visit = Callable[[Any, type[Payload]], Any]
"""Takes the value at a position and the class of payload that belongs there."""


@frozen
class Places(Value):
    """The positions in one class: its own, and those in its parts and in members of its tuples."""

    of: tuple[tuple[str, type[Payload] | Places], ...]

    def swap(self, raw: dict[str, Any], visit: Visit) -> None:
        """Replace the value at each position of *raw*, an event as a dict, by what *visit* returns.

        A position that is absent or None is no slot and is not visited.
        """
        for name, inner in self.of:
            found = raw.get(name)
            if found is None:
                continue
            if not isinstance(inner, Places):
                raw[name] = visit(found, inner)
            elif isinstance(found, dict):
                inner.swap(found, visit)
            else:
                for member in found:
                    inner.swap(member, visit)

    def holders(self, raw: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield the event, or the part of one, that contains each slot, by slot."""
        for name, inner in self.of:
            found = raw.get(name)
            if found is None:
                continue
            if not isinstance(inner, Places):
                yield raw
            elif isinstance(found, dict):
                yield from inner.holders(found)
            else:
                for member in found:
                    yield from inner.holders(member)


def owners(holder: dict[str, Any]) -> tuple[str, ...]:
    """Return the blocks that own a payload; none: it belongs to its event alone.

    A payload's row names its owners, and is gone if the payload is missing. So they are read off
    what contains its mark: a part about one block, an edge, a supersession, whose reason belongs to
    the block that was replaced, or what was found in one or two messages.

    Args:
        holder: The event, or the part of one, that contains the mark.
    """
    match holder:
        case {"block_id": block}:
            return (block,)
        case {"source": source, "target": target}:
            return (source, target)
        case {"supersession": {"old": old}}:
            return (old,)
        case {"messages": [*messages]}:
            return tuple(messages)
        case _:
            return ()


@cache
def places(cls: type) -> Places:
    """Return the positions in *cls*, an event or a part of one."""
    attrs.resolve_types(cls)
    found: list[tuple[str, type[Payload] | Places]] = []
    for field in attrs.fields(cls):
        kind = payload_kind(field.type)
        if kind is not None:
            found.append((field.name, kind))
            continue
        parts = [places(part) for part in _parts(field.type)]
        found += [(field.name, inner) for inner in parts if inner.of]
    return Places(tuple(found))


def _parts(annotation: object) -> list[type]:
    named = get_args(annotation) or (annotation,)
    return [part for part in named if isinstance(part, type) and attrs.has(part)]


def payload_kind(annotation: object) -> type[Payload] | None:
    """Return ``X`` for ``X | Erased`` or ``X | Erased | None``, None for everything else."""
    members = set(get_args(annotation))
    if Erased not in members:
        return None
    (kind,) = members - {Erased, NoneType}
    return cast("type[Payload]", kind)
