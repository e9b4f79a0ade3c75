"""elfmem: its SQLite index, and its folders of Markdown files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from mnemic.adapters.importers.memories.changes import (
    Connect,
    Forget,
    Found,
    Learn,
    Left,
    Options,
    lesson,
    moment,
)
from mnemic.adapters.importers.memories.tables import Tables, tables
from mnemic.adapters.importers.memories.texts import text_of_file
from mnemic.adapters.importers.parsed_items import InputRefused

COLUMNS: Final = frozenset({"id", "content", "category", "created_at", "status"})
_EDGES: Final = frozenset({"from_id", "to_id", "weight", "relation_type"})
_FOLDERS: Final = ("notes", "log", "archive")
_HEADING: Final = re.compile(r"^## +(.*)$", re.MULTILINE)
_COMMENT: Final = re.compile(r"<!--\s*(id:.*?)-->", re.DOTALL)
_PAIR: Final = re.compile(r"(\w+):\s*(\[[^\]]*\]|\S+)")
_LINK: Final = re.compile(r"^\s*[-*]?\s*(\w[\w-]*)::\s*\[\[([^\]|#]+)", re.MULTILINE)


def read(path: Path, _: Options) -> Iterator[Found]:
    """Yield the blocks and edges of an index, or of a folder of files."""
    if path.is_dir():
        yield from _files(path)
        return
    with tables(path) as found:
        tags: dict[str, list[str]] = {}
        for _place, row in found.rows("block_tags", {"block_id", "tag"}):
            tags.setdefault(row["block_id"], []).append(row["tag"])
        for place, row in found.rows("blocks", COLUMNS, order="created_at, rowid"):
            yield from _block(place, row, tags.get(row["id"], []))
        yield from _edges(found)


def _block(place: str, row: Mapping[str, Any], tags: list[str]) -> Iterator[Found]:
    key, created = str(row["id"]), moment(row["created_at"])
    yield Learn(
        place=place,
        key=key,
        at=created,
        lesson=lesson(
            row["content"],
            category=row["category"],
            tags=tags,
            confidence=row.get("confidence"),
            metadata={"source_id": key, "cue": row.get("cue"), "origin": row.get("source")},
        ),
    )
    if row["status"] == "archived":  # elfmem does not record when
        reason = row.get("archive_reason") or "archived"
        yield Forget(place=place, key=key, at=None, reason=f"{reason} in elfmem")
    if row.get("embedding") is not None:
        yield Left(place=place, what="vector", why="texts are embedded anew")


def _edges(found: Tables) -> Iterator[Found]:
    for place, row in found.rows("edges", _EDGES):
        source, target = str(row["from_id"]), str(row["to_id"])
        if row.get("declared_by") == target:
            source, target = target, source
        yield Connect(
            place=place,
            source=source,
            target=target,
            at=moment(row.get("created_at")),
            relation=row["relation_type"],
            weight=row["weight"],
            note=row.get("note"),
        )


def _files(folder: Path) -> Iterator[Found]:
    files = [file for name in _FOLDERS for file in sorted((folder / name).rglob("*.md"))]
    if not files:
        raise InputRefused(
            f"{folder} has no .md file in {', '.join(_FOLDERS)}",
            recovery="Name the folder of elfmem's files, or its .db file.",
        )
    for file in files:
        text, name = text_of_file(file), file.relative_to(folder).as_posix()
        heads = list(_HEADING.finditer(text))
        for head, after in zip(heads, [*heads[1:], None], strict=True):
            line = text.count("\n", 0, head.start()) + 1
            body = text[head.end() : len(text) if after is None else after.start()]
            yield from _section(f"{name}:{line}", name, head[1].strip(), body)


def _section(place: str, name: str, title: str, body: str) -> Iterator[Found]:
    comment = _COMMENT.search(body)
    about = dict(_PAIR.findall(comment[1])) if comment else {}
    content = _COMMENT.sub("", body).strip()
    key = about.get("id", title)
    if not content:
        yield Left(place=place, what="section", why="it has no text")
        return
    tags = [tag for each in about.get("tags", "").strip("[]").split(",") if (tag := each.strip())]
    created = moment(about.get("created"))
    given = lesson(content, thread=name, tags=tags, metadata={"source_id": key, "title": title})
    yield Learn(place=place, key=key, at=created, lesson=given)
    if name.startswith("archive/"):
        yield Forget(place=place, key=key, at=None, reason="archived in elfmem")
    for relation, target in _LINK.findall(body):
        yield Connect(place=place, source=key, target=target.strip(), relation=relation)
