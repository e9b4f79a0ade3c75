"""Plain CSV and JSON lines, with a mapping from the arguments of ``learn`` to columns or keys."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from mnemic.adapters.importers.memories.changes import (
    Found,
    Learn,
    Left,
    Options,
    moment,
)
from mnemic.adapters.importers.memories.json_items import json_lines
from mnemic.adapters.importers.parsed_items import KEYS, InputRefused, InputUnreadable

_TIMES: Final = ("created_at", "expires_at", "valid_from", "valid_until")
_FIELD_MAX: Final = 2**20
"""Characters of one field of a CSV file."""


def read_csv(path: Path, options: Options) -> Iterator[Found]:
    """Yield the rows of a CSV file, whose first row names the columns."""
    csv.field_size_limit(_FIELD_MAX)
    line = 0
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = csv.DictReader(file, strict=True)
            mapping = _mapping(path, options, rows.fieldnames or ())
            for row in rows:
                line = rows.line_num
                if None in row or None in row.values():
                    yield Left(
                        place=f"{path.name}:{line}",
                        what="row",
                        why="it has another number of fields",
                    )
                    continue
                yield from _row(f"{path.name}:{line}", row, mapping)
    except OSError as error:
        raise InputUnreadable(f"cannot read {path}: {error.strerror}", path=str(path)) from error
    except (csv.Error, UnicodeDecodeError) as error:
        raise InputRefused(
            f"{path}: after line {line}: {error}",
            recovery="Save it as CSV in UTF-8, with quotes around fields that hold commas.",
        ) from error


def read_jsonl(path: Path, options: Options) -> Iterator[Found]:
    """Yield the objects of a file of JSON lines."""
    mapping = None
    for place, line in json_lines(path):
        if isinstance(line, InputRefused):
            yield Left(place=place, what="line", why="not JSON")
        elif not isinstance(line, dict):
            yield Left(place=place, what="line", why="it is no object")
        else:
            mapping = mapping or _mapping(path, options, line)
            yield from _row(place, line, mapping)


def _mapping(path: Path, options: Options, columns: Iterable[str]) -> Mapping[str, str]:
    """Return the column of each argument: as mapped, else that of the same name."""
    known = [*columns]
    found = {key: key for key in KEYS if key in known} | dict(options.mapping)
    unknown = sorted({*found} - {*KEYS, "id"})
    missing = sorted(column for column in options.mapping.values() if column not in known)
    if unknown or missing or "content" not in found:
        what = (
            f"--map names {', '.join(unknown)}, which learn does not take"
            if unknown
            else f"{path.name} has no {', '.join(missing) or 'content'}"
        )
        raise InputRefused(
            f"{what}; it has {', '.join(known[:20])}",
            recovery="Map at least the text: --map content=COLUMN. Arguments are id, "
            f"{', '.join(KEYS)}.",
        )
    return found


def _row(place: str, row: Mapping[str, Any], mapping: Mapping[str, str]) -> Iterator[Found]:
    given = {
        key: value
        for key, column in mapping.items()
        if (value := row.get(column)) not in (None, "")
    }
    if not str(given.get("content", "")).strip():
        yield Left(place=place, what="row", why="it has no text")
        return
    for name in _TIMES:
        if name in given:
            given[name] = moment(given[name])
            if given[name] is None:
                yield Left(place=place, what=name, why="it is no date")
                del given[name]
    if isinstance(given.get("tags"), str):
        given["tags"] = [tag for each in given["tags"].split(",") if (tag := each.strip())]
    if isinstance(given.get("confidence"), str):
        given["confidence"] = _number(given["confidence"])
    key = str(given.pop("id", place))
    yield Learn(place=place, key=key, at=given.get("created_at"), lesson=given)


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text  # for learn to refuse
