"""Graphiti: nodes and edges as JSON lines, one row of a Cypher query per line.

An episode becomes a message of its group, an entity its summary, and an edge the fact that it
states, in the period in which it is valid: connected with both entities and its episodes. What
Graphiti learned of the end of a fact, and when, is said again at that time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mnemic.adapters.importers.memories.changes import (
    Connect,
    Found,
    Learn,
    Left,
    Options,
    lesson,
    moment,
)
from mnemic.adapters.importers.memories.json_items import json_lines
from mnemic.adapters.importers.parsed_items import InputRefused


def read(path: Path, _: Options) -> Iterator[Found]:
    """Yield the nodes and edges of a graph."""
    for place, line in json_lines(path):
        if isinstance(line, InputRefused):
            yield Left(place=place, what="line", why="not JSON")
            continue
        row = _properties(line)
        match row:
            case {"uuid": str(key), "fact": str(fact)} if fact.strip():
                yield from _fact(place, key, row)
            case {"uuid": str(key), "content": str(content)} if content.strip():
                yield _episode(place, key, row)
            case {"uuid": str(key), "name": str(name)} if name.strip():
                yield _entity(place, key, row)
            case _:
                yield Left(place=place, what="line", why="neither a node nor a fact")


def _properties(line: Any) -> Any:
    """Return a row, of which a query may have wrapped the properties once."""
    if isinstance(line, dict) and "uuid" not in line and len(line) == 1:
        (line,) = line.values()
    if isinstance(line, dict) and isinstance(line.get("properties"), dict):
        return {**line, **line["properties"]}
    return line


def _fact(place: str, key: str, row: Mapping[str, Any]) -> Iterator[Found]:
    created, expired = moment(row.get("created_at")), moment(row.get("expired_at"))
    begins, ends = moment(row.get("valid_at")), moment(row.get("invalid_at"))
    if begins is not None and ends is not None and ends <= begins:
        yield Left(place=place, what="period", why="it ends before it begins")
        begins = ends = None
    about = {"source_id": key, "relation": row.get("name")}
    given = lesson(
        row["fact"],
        category="fact",
        thread=row.get("group_id"),
        metadata=about,
        valid_from=begins,
        valid_until=None if expired else ends,
        created_at=created,
    )
    yield Learn(place=place, key=key, at=created, lesson=given)
    if expired is not None and ends is not None:
        yield Learn(place=place, key=key, at=expired, lesson={**given, "valid_until": ends})
    ends_of = (("source_node_uuid", "subject of"), ("target_node_uuid", "object of"))
    for name, relation in ends_of:
        if isinstance(row.get(name), str):
            yield Connect(place=place, source=row[name], target=key, at=created, relation=relation)
    episodes = row.get("episodes")
    for episode in episodes if isinstance(episodes, list) else ():
        yield Connect(place=place, source=str(episode), target=key, at=created, relation="supports")


def _episode(place: str, key: str, row: Mapping[str, Any]) -> Learn:
    return Learn(
        place=place,
        key=key,
        at=moment(row.get("created_at")),
        lesson=lesson(
            row["content"],
            category="episode",
            thread=row.get("group_id"),
            created_at=moment(row.get("valid_at")) or moment(row.get("created_at")),
            metadata={"source_id": key, "origin": row.get("source_description")},
        ),
    )


def _entity(place: str, key: str, row: Mapping[str, Any]) -> Learn:
    summary = row.get("summary")
    said = f"{row['name']}: {summary}" if summary else row["name"]
    labels = row.get("labels")
    return Learn(
        place=place,
        key=key,
        at=moment(row.get("created_at")),
        lesson=lesson(
            said,
            category="entity",
            thread=row.get("group_id"),
            tags=[str(each) for each in labels] if isinstance(labels, list) else None,
            metadata={"source_id": key, "attributes": row.get("attributes")},
        ),
    )
