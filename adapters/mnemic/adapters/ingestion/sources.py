"""Which files there are, which kind each is, and its sittings."""

from __future__ import annotations

import sys
from codecs import BOM_UTF8
from pathlib import Path
from typing import Final

from attrs import frozen

from mnemic.adapters.ingestion import conversations, lines, markdown, plaintext
from mnemic.adapters.ingestion.formats import File, Format
from mnemic.adapters.ingestion.items import (
    NO_LABELS,
    InputRefused,
    InputUnreadable,
    Labels,
    Sitting,
    Source,
)
from mnemic.adapters.ingestion.transcripts import chatlogs, messages
from mnemic.adapters.ingestion.transcripts.dates import DateOrder
from mnemic.kernel.decisions.learning import NAME_LENGTH_MAX

STANDARD_INPUT: Final = Path("-")
SUFFIXES: Final = frozenset({".json", ".jsonl", ".markdown", ".md", ".txt"})
"""What is taken from a folder."""


@frozen(kw_only=True)
class Reading:
    """How to read files; whatever is not given is found out."""

    format: Format | None = None
    labels: Labels = NO_LABELS
    date_order: DateOrder | None = None
    """How dates of chat logs are written."""
    conversation: str | None = None
    """Id of the one conversation to read."""


def files(path: Path) -> list[tuple[Path, str | None]]:
    """Return the files at *path*, in the order of their names, each with its short name.

    Args:
        path: A file, ``-`` for standard input (which has no name), or a folder, which is searched
            through, but for hidden files and folders.

    Raises:
        InputUnreadable: A folder holds no file of a kind that is read.
    """
    if path == STANDARD_INPUT:
        return [(path, None)]
    if not path.is_dir():
        return [(path, path.name)]
    inside = ((each, each.relative_to(path)) for each in path.rglob("*"))
    found = sorted(
        (each, short.as_posix())
        for each, short in inside
        if short.suffix.lower() in SUFFIXES
        and not any(part.startswith(".") for part in short.parts)
        and each.is_file()
    )
    if not found:
        raise InputUnreadable(
            f"{path} holds no {', '.join(sorted(SUFFIXES))}",
            recovery="Name the files; --format says what they are.",
            path=str(path),
        )
    return [(each, short) for each, short in found]


def read(path: Path, how: Reading | None = None, *, called: str | None = None) -> list[Sitting]:
    """Return the sittings of a file; none if it is empty.

    Args:
        path: The file; ``-`` is standard input.
        how: What its reader knows about it.
        called: The short name, which names its thread; None: that of the path.

    Raises:
        InputUnreadable: The file is not there, or cannot be read.
        InputRefused: It is not what it should be, or has no such conversation.
    """
    how = how or Reading()
    data = _bytes(path).removeprefix(BOM_UTF8)
    if not data.strip():
        return []
    if path == STANDARD_INPUT:
        source = Source(name="standard input", thread=called)
    else:  # of a long name the end tells more
        source = Source(name=str(path), thread=(called or path.name)[-NAME_LENGTH_MAX:])
    return _sittings(source, File(source.name, data, path.suffix.lower()), how)


def _sittings(source: Source, file: File, how: Reading) -> list[Sitting]:
    kind, labels, only = how.format or file.format(), how.labels, how.conversation
    if only is not None and kind not in {"conversations", "messages"}:
        raise InputRefused(
            f"{source.name} holds {_HELD[kind]}, no conversations",
            recovery="Leave out --conversation.",
        )
    match kind:
        case "lines":
            size = file.data.count(b"\n") + 1
            return [lines.sitting(source.name, file.documents(), labels, size=size)]
        case "conversations":
            return conversations.sittings(source.name, file.document(), labels, only=only)
        case "messages":
            return messages.sittings(source, file.documents(), labels, only=only)
        case "chatlog":
            order = how.date_order
            return [chatlogs.sitting(source, file.text(), labels, date_order=order)]
        case "markdown":
            return [markdown.sitting(source, file.text(), labels)]
        case "text":
            return [plaintext.sitting(source, file.text(), labels)]


_HELD: Final[dict[Format, str]] = {
    "lines": "JSON lines",
    "conversations": "conversations",
    "messages": "messages",
    "chatlog": "a chat log",
    "markdown": "Markdown",
    "text": "text",
}


def _bytes(path: Path) -> bytes:
    try:
        return sys.stdin.buffer.read() if path == STANDARD_INPUT else path.read_bytes()
    except OSError as error:
        raise InputUnreadable(f"cannot read {path}: {error.strerror}", path=str(path)) from error
