"""Text files of a source: their text, front matter, and division into blocks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from mnemic.adapters.importers.memories.json_items import missing
from mnemic.adapters.importers.parsed_items import InputRefused, InputUnreadable
from mnemic.adapters.importers.passages import ATOM_SIZE, Piece, sentences

RELATED: Final = "\n\n## Related\n\n"
"""Heading of the links that an export writes below a text."""
FILE_MAX: Final = 16 * 2**20
"""Bytes of one file of text."""


def text_of_file(path: Path) -> str:
    """Return the text of a file, with line feeds only.

    Raises:
        InputUnreadable: It cannot be read.
        InputRefused: It is not UTF-8, or too long for a page.
    """
    try:
        size = path.stat().st_size
        data = path.read_bytes() if size <= FILE_MAX else b""
    except OSError as error:
        raise InputUnreadable(f"cannot read {path}: {error.strerror}", path=str(path)) from error
    if size > FILE_MAX:
        raise InputRefused(
            f"{path} has {size} bytes, the limit of a page is {FILE_MAX}",
            recovery="Divide it, or move it out of the folder.",
        )
    return decoded(str(path), data)


def decoded(name: str, data: bytes) -> str:
    """Return bytes as text, with line feeds only.

    Raises:
        InputRefused: They are not UTF-8.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputRefused(
            f"{name}:{line} is not UTF-8", recovery="Convert the file to UTF-8."
        ) from error
    return text.replace("\r\n", "\n").replace("\r", "\n")


def front_matter(name: str, text: str) -> tuple[dict[str, Any], str]:
    """Return the YAML before a document, and the document.

    Raises:
        InputRefused: It is not YAML; the message has the line.
    """
    lines = text.split("\n")
    end = next(
        (at for at, line in enumerate(lines) if at and line.rstrip() in {"---", "..."}), None
    )
    if lines[0].rstrip() != "---" or end is None:
        return {}, text.strip()
    yaml = _yaml()
    try:
        found = yaml.safe_load("\n".join(lines[1:end]))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = 2 + (mark.line if mark else 0)
        raise InputRefused(
            f"{name}:{line}: the front matter is not YAML: {getattr(error, 'problem', error)}",
            recovery="Correct the lines between the two rules.",
        ) from error
    if not isinstance(found, dict):
        return {}, text.strip()
    return {str(key): value for key, value in found.items()}, "\n".join(lines[end + 1 :]).strip()


def written_front_matter(about: Mapping[str, Any]) -> str:
    """Return the YAML of a front matter, without its rules."""
    found: str = _yaml().safe_dump(dict(about), sort_keys=False, allow_unicode=True, width=1_000)
    return found


def _yaml() -> Any:
    try:
        import yaml
    except ImportError as error:
        raise missing("PyYAML") from error
    return yaml


def parts(text: str) -> Iterator[str]:
    """Yield a text in pieces that fit into one block each: nearly always one."""
    for piece in sentences(Piece(text=text, line=1), ATOM_SIZE):
        yield piece.text
