"""The MCP server ``server-memory``: entities with observations, and relations, as JSON lines.

It records no times. An entity becomes a block, each of its observations another one in the thread
of the entity, connected with it, and a relation an edge between two entities.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mnemic.adapters.importers.memories.changes import Connect, Found, Learn, Left, Options, lesson
from mnemic.adapters.importers.memories.json_items import json_lines
from mnemic.adapters.importers.parsed_items import InputRefused


def read(path: Path, _: Options) -> Iterator[Found]:
    """Yield entities, observations and relations; lines that are neither are left."""
    for place, line in json_lines(path):
        match line:
            case InputRefused() as refusal:
                yield Left(place=place, what="line", why=refusal.message.partition(":")[0])
            case {"type": "entity", "name": str(name), "entityType": str(kind)}:
                yield from _entity(place, name, kind, line.get("observations"))
            case {"type": "relation", "from": str(a), "to": str(b), "relationType": str(how)}:
                yield Connect(place=place, source=_key(a), target=_key(b), relation=how)
            case _:
                yield Left(place=place, what="line", why="neither an entity nor a relation")


def _entity(place: str, name: str, kind: str, observations: Any) -> Iterator[Found]:
    about = {"entity": name, "entity_type": kind}
    yield Learn(
        place=place,
        key=_key(name),
        at=None,
        lesson=lesson(f"{name} ({kind})", category="entity", thread=name, metadata=about),
    )
    for number, each in enumerate(observations if isinstance(observations, list) else (), start=1):
        if not isinstance(each, str) or not each.strip():
            yield Left(place=place, what="observation", why="it is no text")
            continue
        key = f"{_key(name)}\n{each}"
        yield Learn(
            place=f"{place} observation {number}",
            key=key,
            at=None,
            lesson=lesson(f"{name}: {each}", category="observation", thread=name, metadata=about),
        )
        yield Connect(place=place, source=key, target=_key(name), relation="describes")


def _key(name: str) -> str:
    return f"entity {name}"
