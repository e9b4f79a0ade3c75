"""Conversation JSON: turns with speaker, date and session.

    {"conversations": [{"id": "c1", "turns": [{"id": "D1:1", "session": 1,
        "at": "2023-05-08T13:56:00", "speaker": "Ada", "text": "Hello!"}]}]}

A turn becomes a block of category ``message``. Its thread is conversation and session, and its
metadata holds the turn's id; a turn without a date is of unknown age. Other contents of the
file (questions, notes) are ignored.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from mnemic.adapters.importers.parsed_items import (
    NO_LABELS,
    InputRefused,
    Item,
    Labels,
    Sitting,
    item,
)
from mnemic.kernel.decisions.learning import UNDATED

CATEGORY = "message"


def sittings(
    name: str,
    document: Mapping[str, Any],
    labels: Labels = NO_LABELS,
    *,
    only: str | None = None,
) -> list[Sitting]:
    """Return one sitting per session of each conversation, in the order of the file.

    Args:
        name: Name of the file in places and messages.
        document: The whole file.
        labels: Values for the whole file.
        only: Id of the one conversation to read; None: all.

    Raises:
        InputRefused: The document has another shape, or no such conversation.
    """
    conversations = document.get("conversations")
    if not isinstance(conversations, list):
        raise InputRefused(
            f"{name}: 'conversations' is not a list",
            recovery='Write {"conversations": [{"id": …, "turns": […]}]}.',
        )
    known = [_id(name, conversation) for conversation in conversations]
    if only is not None and only not in known:
        raise InputRefused(
            f"{name} has no conversation {only!r}", recovery=f"Choose from {', '.join(known)}."
        )
    return [
        sitting
        for called, conversation in zip(known, conversations, strict=True)
        if only in {None, called}
        for sitting in _sessions(name, called, conversation["turns"], labels)
    ]


def _id(name: str, conversation: object) -> str:
    match conversation:
        case {"id": str(called), "turns": list()}:
            return called
        case _:
            raise InputRefused(
                f"{name}: a conversation without an id or a list of turns",
                recovery='Write {"id": "c1", "turns": […]} for each conversation.',
            )


def _sessions(name: str, called: str, turns: Sequence[Any], labels: Labels) -> Iterator[Sitting]:
    for session, together in groupby(turns, key=_session):
        thread = called if session is None else f"{called}/{session}"
        said = list(together)
        yield Sitting(
            name=thread, items=[_item(name, thread, turn, labels) for turn in said], size=len(said)
        )


def _session(turn: object) -> object:
    return turn.get("session") if isinstance(turn, dict) else None


def _item(name: str, thread: str, turn: object, labels: Labels) -> Item:
    if not isinstance(turn, dict) or "text" not in turn:
        return Item(
            place=f"{name}: {thread}",
            refusal=InputRefused(
                "a turn without 'text'", recovery='Write {"id": …, "speaker": …, "text": …}.'
            ),
        )
    said = {
        "content": turn["text"],
        "author": turn.get("speaker"),
        "created_at": turn.get("at"),
        "metadata": {"turn": turn["id"]} if "id" in turn else None,
    }
    derived = {"category": CATEGORY, "thread": thread, "created_at": UNDATED}
    return item(f"{name}: {thread} {turn.get('id', '')}".rstrip(), said, labels, derived=derived)
