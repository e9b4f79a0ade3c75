"""Discovery of files, and reading of their sittings by format."""

from __future__ import annotations

import sys
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from attrs import evolve, frozen

from mnemic.adapters.importers import (
    chat_logs,
    conversations,
    lines,
    markdown,
    messages,
    plaintext,
)
from mnemic.adapters.importers.dates import DateOrder
from mnemic.adapters.importers.formats import File, Format
from mnemic.adapters.importers.other_formats import BY_SUFFIX, check_is_read
from mnemic.adapters.importers.parsed_items import (
    NO_LABELS,
    InputRefused,
    InputUnreadable,
    Item,
    Labels,
    Sitting,
    Source,
)
from mnemic.kernel.decisions.learning import MESSAGE, MESSAGE_IDS
from mnemic.kernel.validation import NAME_LENGTH_MAX

STANDARD_INPUT: Final = Path("-")
SUFFIXES: Final = frozenset({".json", ".jsonl", ".markdown", ".md", ".txt"})
"""The file name suffixes that are read from a folder."""
LISTED: Final = SUFFIXES | BY_SUFFIX.keys()
"""Those of files that a folder is searched for: documents of other formats are refused by name."""


@frozen(kw_only=True)
class Reading:
    """Options for reading files; those not given are detected."""

    format: Format | None = None
    labels: Labels = NO_LABELS
    date_order: DateOrder | None = None
    """The order of dates in chat logs."""
    conversation: str | None = None
    """Id of the one conversation to read."""


def files(path: Path) -> list[tuple[Path, str | None]]:
    """Return the files at *path*, in the order of their names, each with its short name.

    Args:
        path: A file, ``-`` for standard input (which has no name), or a folder, which is searched
            recursively, except hidden files and folders.

    Raises:
        InputUnreadable: A folder contains no file with one of the suffixes.
    """
    if path == STANDARD_INPUT:
        return [(path, None)]
    if not path.is_dir():
        return [(path, path.name)]
    found = [(each, short) for each, short in _inside(path) if each.suffix.lower() in LISTED]
    if not found:
        raise InputUnreadable(
            f"{path} holds no {', '.join(sorted(SUFFIXES))}",
            recovery="Name the files; --format says what they are.",
            path=str(path),
        )
    return [*found]


def left_out(path: Path) -> dict[str, int]:
    """Return how many files in a folder ``files`` does not list, by suffix, or name.

    Args:
        path: A folder; for anything else nothing is left out.
    """
    inside = _inside(path) if path.is_dir() else ()
    suffixes = (each.suffix.lower() or each.name for each, _ in inside)
    counts = Counter(suffix for suffix in suffixes if suffix not in LISTED)
    return dict(sorted(counts.items()))


def _inside(folder: Path) -> list[tuple[Path, str]]:
    """Return the files in a folder that are not hidden, each with its path from there."""
    inside = ((each, each.relative_to(folder)) for each in folder.rglob("*"))
    return sorted(
        (each, short.as_posix())
        for each, short in inside
        if not any(part.startswith(".") for part in short.parts) and each.is_file()
    )


def read(path: Path, how: Reading | None = None, *, called: str | None = None) -> list[Sitting]:
    """Return the sittings of a file; none if it is empty.

    Args:
        path: The file; ``-`` is standard input.
        how: The options for reading it.
        called: The short name, used for its thread; None: that of the path.

    Raises:
        InputUnreadable: The file does not exist, or cannot be read.
        InputRefused: It does not have the expected format, is of one that is not read, is binary,
            or has no such conversation.
    """
    how = how or Reading()
    data = _bytes(path).removeprefix(BOM_UTF8)
    if not data.strip():
        return []
    if how.format is None:
        check_is_read(str(path), data, path.suffix.lower())
    if path == STANDARD_INPUT:
        source = Source(name="standard input", thread=called)
    else:  # the end of a long name is more informative
        source = Source(name=str(path), thread=(called or path.name)[-NAME_LENGTH_MAX:])
    found = _sittings(source, File(source.name, data, path.suffix.lower()), how)
    counts: Counter[object] = Counter()
    return [evolve(sitting, items=_numbered(sitting.items, counts)) for sitting in found]


def _numbered(items: Iterable[Item], counts: Counter[object]) -> Iterator[Item]:
    """Yield *items*, messages without an id with their number in the thread as ``turn``.

    So a file that is read again, or has grown, yields no message twice.

    Args:
        items: Of one sitting.
        counts: Messages so far by thread, since a thread may go on in a later sitting.
    """
    for each in items:
        lesson = each.lesson
        if lesson is None or lesson.get("category") != MESSAGE:
            yield each
            continue
        thread, metadata = lesson.get("thread"), lesson.get("metadata") or {}
        counts[thread] += 1
        if isinstance(metadata, Mapping) and metadata.keys().isdisjoint(MESSAGE_IDS):
            metadata = {**metadata, "turn": str(counts[thread])}
        yield evolve(each, lesson={**lesson, "metadata": metadata})


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
            return [chat_logs.sitting(source, file.text(), labels, date_order=order)]
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
