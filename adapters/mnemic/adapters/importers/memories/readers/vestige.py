"""vestige: nodes and connections in SQLite, with the time in which a fact is valid."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from mnemic.adapters.importers.memories.changes import (
    Connect,
    Found,
    Learn,
    Left,
    Options,
    lesson,
    moment,
)
from mnemic.adapters.importers.memories.tables import Tables, tables

COLUMNS: Final = frozenset({"id", "content", "node_type", "created_at"})
_LINKS: Final = {
    "memory_connections": ("source_id", "target_id", "link_type", "strength"),
    "knowledge_edges": ("source_id", "target_id", "edge_type", "weight"),
}


def read(path: Path, _: Options) -> Iterator[Found]:
    """Yield the nodes of a memory, and their connections."""
    with tables(path) as found:
        for place, row in found.rows("knowledge_nodes", COLUMNS, order="created_at, rowid"):
            key, created = str(row["id"]), moment(row["created_at"])
            given = lesson(
                row["content"],
                category=row["node_type"],
                tags=_tags(row.get("tags")),
                valid_from=moment(row.get("valid_from")),
                valid_until=moment(row.get("valid_until")),
                metadata={"source_id": key, "origin": row.get("source"), "scope": row.get("scope")},
                created_at=created,
            )
            yield Learn(place=place, key=key, at=created, lesson=given)
            if row.get("updated_at") not in (None, row["created_at"]):
                yield Left(place=place, what="earlier text", why="vestige keeps the last one only")
        for table, columns in _LINKS.items():
            yield from _links(found, table, columns)
        for table in ("fsrs_cards", "state_transitions"):
            if found.columns(table):
                yield Left(place=table, what=table, why="mnemic schedules by its own outcomes")


def _links(found: Tables, table: str, columns: tuple[str, ...]) -> Iterator[Found]:
    if not found.columns(table):
        return
    source, target, relation, weight = columns
    for place, row in found.rows(table, (source, target)):
        strength = row.get(weight)
        yield Connect(
            place=place,
            source=str(row[source]),
            target=str(row[target]),
            at=moment(row.get("created_at")),
            relation=row.get(relation),
            weight=min(max(float(strength), 0.0), 1.0) if strength is not None else None,
        )


def _tags(given: Any) -> list[str]:
    try:
        found = json.loads(given) if given else []
    except ValueError:
        return [part for each in str(given).split(",") if (part := each.strip())]
    return [str(each) for each in found] if isinstance(found, list) else []
