"""Which kind of file this is, and its sittings."""

from __future__ import annotations

import json
import sys
from codecs import BOM_UTF8
from pathlib import Path
from typing import Any

from mnemic.adapters.ingestion import conversations, lines
from mnemic.adapters.ingestion.items import InputRefused, InputUnreadable, Sitting

STANDARD_INPUT = Path("-")


def read(path: Path, *, conversation: str | None = None) -> list[Sitting]:
    """Return the sittings of a file of JSON lines or of conversation JSON.

    Args:
        path: The file; ``-`` is standard input.
        conversation: Id of the one conversation to read; only conversation JSON has any.

    Raises:
        InputUnreadable: The file is not there, or cannot be read.
        InputRefused: A conversation was asked for that the file does not have.
    """
    name = "standard input" if path == STANDARD_INPUT else str(path)
    data = _bytes(path).removeprefix(BOM_UTF8)
    document = _conversations(data)
    if document is not None:
        return conversations.sittings(name, document, conversation)
    if conversation is not None:
        raise InputRefused(
            f"{name} holds JSON lines, no conversations", recovery="Leave out --conversation."
        )
    return [lines.sitting(name, data)]


def _bytes(path: Path) -> bytes:
    try:
        return sys.stdin.buffer.read() if path == STANDARD_INPUT else path.read_bytes()
    except OSError as error:
        raise InputUnreadable(f"cannot read {path}: {error.strerror}", path=str(path)) from error


def _conversations(data: bytes) -> dict[str, Any] | None:
    """Return the document if it is conversation JSON.

    Only a file whose first line is no object of its own is read as one piece: JSON lines may be
    far longer than a conversation.
    """
    first = data.lstrip().split(b"\n", 1)[0]
    given = _json(first)
    if given is None and first.startswith(b"{"):
        given = _json(data)
    return given if isinstance(given, dict) and "conversations" in given else None


def _json(data: bytes) -> Any:
    """Return what *data* says in JSON; None if it is none."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None
