"""mem0: ``history.db``, which is a history of events, and what ``get_all()`` returns, as JSON.

A folder with both is read together: the history says what happened when, and the JSON to whom a
memory belongs and its metadata.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from mnemic.adapters.importers.memories.changes import (
    Forget,
    Found,
    Learn,
    Left,
    Options,
    Revise,
    lesson,
    moment,
)
from mnemic.adapters.importers.memories.json_items import json_items
from mnemic.adapters.importers.memories.tables import is_sqlite, tables
from mnemic.adapters.importers.parsed_items import InputRefused

COLUMNS: Final = frozenset({"memory_id", "old_memory", "new_memory", "event", "created_at"})
_SCOPE: Final = {"user_id": "user", "agent_id": "agent", "run_id": "run"}


def read(path: Path, _: Options) -> Iterator[Found]:
    """Yield the history of a memory, or the memories of ``get_all()``."""
    if not path.is_dir():
        yield from _history(path, {}) if is_sqlite(path) else _all(path)
        return
    databases = [each for each in sorted(path.iterdir()) if each.is_file() and is_sqlite(each)]
    if len(databases) != 1:
        raise InputRefused(
            f"{path} holds {len(databases)} databases, and not one history.db",
            recovery="Name the file, or a folder with history.db and the JSON of get_all().",
        )
    current = {
        key: each
        for file in sorted(path.glob("*.json"))
        for _, each in json_items(file, "results.item")
        if isinstance(each, dict) and (key := each.get("id"))
    }
    yield from _history(databases[0], current)


def _history(path: Path, current: Mapping[str, Mapping[str, Any]]) -> Iterator[Found]:
    with tables(path) as found:
        for place, row in found.rows("history", COLUMNS):
            key, event = str(row["memory_id"]), str(row["event"]).upper()
            created, updated = moment(row["created_at"]), moment(row.get("updated_at"))
            text = row["new_memory"]
            given = _lesson(text, key, {**current.get(key, {}), "role": row.get("role")})
            if row.get("actor_id") and "author" not in given:
                given["author"] = str(row["actor_id"])
            if event == "DELETE":
                yield Forget(place=place, key=key, at=updated or created, reason="deleted in mem0")
            elif not text:
                yield Left(place=place, what=f"event {event}", why="it has no text")
            elif event == "ADD":
                yield Learn(place=place, key=key, at=created, lesson=given)
            elif event == "UPDATE":
                yield Revise(place=place, key=key, at=updated or created, lesson=given)
            else:
                yield Left(place=place, what=f"event {event}", why="it changes no memory")
        if found.columns("messages"):
            for place, _row in found.rows("messages", ()):
                yield Left(place=place, what="message", why="mem0 keeps it to extract memories")


def _all(path: Path) -> Iterator[Found]:
    for place, each in json_items(path, "results.item"):
        if not isinstance(each, dict) or not each.get("memory") or not each.get("id"):
            yield Left(place=place, what="result", why="it has no id or no memory")
            continue
        created, updated = moment(each.get("created_at")), moment(each.get("updated_at"))
        given = _lesson(each["memory"], str(each["id"]), each)
        yield Learn(
            place=place,
            key=str(each["id"]),
            at=updated or created,
            lesson={**given, **_at(created)},
        )


def _at(created: str | None) -> dict[str, str]:
    return {} if created is None else {"created_at": created}


def _lesson(text: object, key: str, about: Mapping[str, Any]) -> dict[str, Any]:
    scope = {ours: str(about[theirs]) for theirs, ours in _SCOPE.items() if about.get(theirs)}
    role = about.get("role")
    own = about.get("metadata")
    return lesson(
        text,
        author=about.get("actor_id"),
        scope=scope,
        role=role if role in {"user", "assistant", "system", "tool"} else None,
        metadata={**(own if isinstance(own, dict) else {}), "source_id": key},
    )
