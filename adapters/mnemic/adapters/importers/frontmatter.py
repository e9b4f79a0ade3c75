"""Front matter: the lines before a Markdown document that describe it.

    ---
    title: Harbour notes
    date: 2024-03-01
    author: Ines
    tags: [harbour, tides]
    ---

A small subset of YAML: ``key: value``, and tags as ``[a, b]``, as ``a, b`` or one per line after a
hyphen. Other keys are ignored. Anything that does not have this form is text.
"""

from __future__ import annotations

import re
from typing import Final

from attrs import frozen

_PAIR: Final = re.compile(r"([A-Za-z_][\w-]*)[ \t]*:(?:[ \t]+(.*))?$")
_ENTRY: Final = re.compile(r"[ \t]*-[ \t]+(.*)$")
_PASSED_OVER: Final = re.compile(r"[ \t]*(?:#.*)?$|[ \t]+\S")
"""Blank lines, comments, and values nested below a key."""


@frozen(kw_only=True)
class FrontMatter:
    """The description of a document in its front matter."""

    lines: int = 0
    """Number of its lines, including the two rules."""
    title: str | None = None
    date: str | None = None
    author: str | None = None
    tags: tuple[str, ...] = ()


def front_matter(text: str) -> FrontMatter:
    """Return the front matter of *text*; an empty one if there is none."""
    lines = text.split("\n")
    end = next((n for n, line in enumerate(lines) if n and line.rstrip() in {"---", "..."}), None)
    if lines[0].rstrip() != "---" or end is None:
        return FrontMatter()
    read = _pairs(lines[1:end])
    if read is None:
        return FrontMatter()
    said = {key: values for key, values in read.items() if values}
    return FrontMatter(
        lines=end + 1,
        title=_one(said.get("title")),
        date=_one(said.get("date")),
        author=_one(said.get("author")),
        tags=tuple(dict.fromkeys(said.get("tags", ()))),
    )


def _pairs(lines: list[str]) -> dict[str, list[str]] | None:
    """Return the values of each key; None if a line is something else."""
    found: dict[str, list[str]] = {}
    key: str | None = None
    for line in lines:
        if pair := _PAIR.match(line):
            named: str = pair[1].lower()
            found[named] = _values(named, pair[2] or "")
            key = named
        elif key is not None and (entry := _ENTRY.match(line)):
            found[key].append(_unquoted(entry[1]))
        elif not _PASSED_OVER.match(line):
            return None
    return found or None


def _values(key: str, written: str) -> list[str]:
    written = written.strip()
    listed = written.startswith("[") and written.endswith("]")
    if listed or key == "tags":
        parts = (written[1:-1] if listed else written).split(",")
        return [value for part in parts if (value := _unquoted(part))]
    return [value] if (value := _unquoted(written)) else []


def _unquoted(written: str) -> str:
    written = written.strip()
    if len(written) > 1 and written[0] == written[-1] and written[0] in "\"'":
        return written[1:-1].strip()
    return written


def _one(values: list[str] | None) -> str | None:
    """Return the values of a key as one text; several authors are joined."""
    return None if values is None else ", ".join(values)
