"""LangGraph's ``SqliteStore``: namespaced JSON values, each with its last change only."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from mnemic.adapters.importers.memories.changes import (
    Found,
    Learn,
    Left,
    Options,
    lesson,
    moment,
)
from mnemic.adapters.importers.memories.tables import tables

COLUMNS: Final = frozenset({"prefix", "key", "value", "created_at", "updated_at"})
_TEXTS: Final = ("text", "content", "memory", "data", "value")
"""Keys of a value whose text is the memory; without one the whole value is, as JSON."""


def read(path: Path, _: Options) -> Iterator[Found]:
    """Yield the items of a store."""
    with tables(path) as found:
        for place, row in found.rows("store", COLUMNS, order="updated_at, prefix, key"):
            try:
                value = json.loads(row["value"])
            except (TypeError, ValueError, RecursionError):
                yield Left(place=place, what="item", why="its value is not JSON")
                continue
            name = f"{row['prefix']}/{row['key']}"
            given = lesson(
                _text(value),
                thread=str(row["prefix"]) or None,
                metadata={"namespace": row["prefix"], "key": row["key"], **_rest(value)},
                created_at=moment(row["created_at"]),
                expires_at=moment(row.get("expires_at")),
            )
            yield Learn(place=place, key=name, at=moment(row["updated_at"]), lesson=given)


def _named(value: Any) -> str | None:
    """Return the key of a value that holds its text."""
    if not isinstance(value, dict):
        return None
    return next((key for key in _TEXTS if isinstance(value.get(key), str) and value[key]), None)


def _text(value: Any) -> str:
    key = _named(value)
    if key is not None:
        return str(value[key])
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _rest(value: Any) -> dict[str, Any]:
    key = _named(value)
    rest = {} if key is None else {name: each for name, each in value.items() if name != key}
    return {"value": rest} if rest else {}
