"""Folders of Markdown pages with links: Obsidian vaults and bundles of the Open Knowledge Format.

A page becomes a block, in parts if it is longer than a block may be, and a link to another page of
the folder an edge. Front matter gives tags, dates, author and title; the rest of it is metadata.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path, PurePosixPath
from typing import Any, Final
from urllib.parse import unquote

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
from mnemic.adapters.importers.memories.texts import RELATED, front_matter, parts, text_of_file
from mnemic.adapters.importers.parsed_items import InputRefused
from mnemic.kernel.timestamps import iso

RESERVED: Final = frozenset({"index.md", "log.md"})
"""Pages of OKF that list others."""
_WIKI_LINK: Final = re.compile(r"!?\[\[([^\]|#^]+)(?:[#^][^\]|]*)?(?:\|[^\]]*)?\]\]")
_MARKDOWN_LINK: Final = re.compile(r"(?<!!)\[[^\]]*\]\(<?([^)\s>#]+\.md)(?:#[^)\s>]*)?>?[^)]*\)")
_TAG: Final = re.compile(r"(?:(?<=\s)|^)#([\w/-]*[A-Za-z][\w/-]*)", re.MULTILINE)
_DATES: Final = ("created_at", "created", "date", "timestamp")
_TAKEN: Final = frozenset({*_DATES, "tags", "tag", "author", "title", "type", "aliases", "alias"})
_RETIRED: Final = frozenset({"deprecated", "archived", "superseded", "retired"})


def read_obsidian(path: Path, _: Options) -> Iterator[Found]:
    """Yield the pages of a vault and the links between them."""
    yield from _pages(path, skip=frozenset(), is_okf=False)


def read_okf(path: Path, _: Options) -> Iterator[Found]:
    """Yield the documents of a bundle and the links between them."""
    yield from _pages(path, skip=RESERVED, is_okf=True)


def _pages(folder: Path, *, skip: frozenset[str], is_okf: bool) -> Iterator[Found]:
    files = {
        file.relative_to(folder).as_posix(): file
        for file in sorted(folder.rglob("*.md"))
        if not any(part.startswith(".") for part in file.relative_to(folder).parts)
        and not file.is_dir()
    }
    if not folder.is_dir() or not files:
        raise InputRefused(f"{folder} is no folder with .md files", recovery="Name the folder.")
    names = _names(files)
    for name, file in files.items():
        if file.name in skip:
            yield Left(place=name, what="page", why="it lists other pages")
            continue
        about, body = front_matter(name, text_of_file(file))
        if is_okf and "type" not in about:
            yield Left(place=name, what="page", why="it has no type, which OKF requires")
            continue
        if not body:
            yield Left(place=name, what="page", why="it has no text")
            continue
        written = iso(round(file.stat().st_mtime * 1_000_000))
        # What mnemic wrote has its edges below the text, which is not part of it.
        text = body.partition(RELATED)[0] if "mnemic" in about else body
        yield from _page(name, about, text, written)
        for target in _links(name, body, names):
            yield Connect(place=name, source=name, target=target, relation="links to")


def _page(name: str, about: Mapping[str, Any], body: str, written: str) -> Iterator[Found]:
    created = next((at for key in _DATES if (at := _date(about.get(key)))), None)
    generated = about.get("generated")
    if isinstance(generated, dict):
        created = created or _date(generated.get("at"))
    author = about.get("author") or (generated.get("by") if isinstance(generated, dict) else None)
    given = lesson(
        None,
        category=_word(about.get("type")),
        tags=_tags(about, body),
        author=_word(author),
        thread=name,
        created_at=created or written,
        valid_from=_date(about.get("valid_from")),
        valid_until=_date(about.get("stale_after")),
    )
    title = about.get("title") or PurePosixPath(name).stem
    rest = {key: _plain(value) for key, value in about.items() if key not in _TAKEN}
    whole = list(parts(body))
    for number, text in enumerate(whole, start=1):
        metadata = {"path": name, "title": str(title), **rest}
        metadata |= {"part": number} if len(whole) > 1 else {}
        key = name if number == 1 else f"{name} part {number}"
        yield Learn(
            place=name, key=key, at=created, lesson={**given, "content": text, "metadata": metadata}
        )
        if number > 1:
            yield Connect(place=name, source=key, target=name, relation="part of")
    if str(about.get("status") or "").lower() in _RETIRED:
        yield Forget(place=name, key=name, at=None, reason=f"status {about['status']}")


def _names(files: Mapping[str, Path]) -> dict[str, str]:
    """Return pages by what a link may call them: the path, or the name of the file alone."""
    found: dict[str, str] = {}
    for name in sorted(files, key=lambda each: (each.count("/"), each)):
        found.setdefault(PurePosixPath(name).stem.lower(), name)
    return found | {name.removesuffix(".md").lower(): name for name in files}


def _links(name: str, body: str, names: Mapping[str, str]) -> list[str]:
    """Return the other pages that a page links to, each once."""
    folder = PurePosixPath(name).parent
    targets = [each.strip().lower().removesuffix(".md") for each in _WIKI_LINK.findall(body)]
    for link in _MARKDOWN_LINK.findall(body):
        path = unquote(link)
        inside = PurePosixPath(path.lstrip("/")) if path.startswith("/") else folder / path
        targets.append(_normal(inside).lower().removesuffix(".md"))
    found = dict.fromkeys(names[target] for target in targets if target in names)
    return [target for target in found if target != name]


def _normal(path: PurePosixPath) -> str:
    kept: list[str] = []
    for part in path.parts:
        if part == ".." and kept:
            kept.pop()
        elif part not in {".", ".."}:
            kept.append(part)
    return "/".join(kept)


def _tags(about: Mapping[str, Any], body: str) -> list[str]:
    given = about.get("tags") or about.get("tag") or []
    listed = given if isinstance(given, list) else str(given).replace(",", " ").split()
    found = [*(str(each).lstrip("#") for each in listed), *_TAG.findall(body)]
    return [tag for tag in dict.fromkeys(each.strip() for each in found) if tag]


def _date(given: object) -> str | None:
    return moment(given.isoformat() if isinstance(given, date) else given)


def _word(given: object) -> str | None:
    return " ".join(given.split())[:200] or None if isinstance(given, str) else None


def _plain(value: Any) -> Any:
    """Return a value of YAML as JSON has it."""
    match value:
        case dict():
            return {str(key): _plain(each) for key, each in value.items()}
        case list():
            return [_plain(each) for each in value]
        case date():
            return value.isoformat()
        case _:
            return value
