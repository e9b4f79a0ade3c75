"""Exports of Claude (``conversations.json``, ``memories.json``) and of ChatGPT."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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
from mnemic.adapters.importers.memories.json_items import json_items
from mnemic.adapters.importers.messages import is_hidden, message_text, shown_branch
from mnemic.adapters.importers.parsed_items import InputRefused
from mnemic.kernel.decisions.learning import MESSAGE
from mnemic.kernel.validation import NAME_LENGTH_MAX

_ROLES: Final = {"human": "user", "assistant": "assistant"}


def read_claude(path: Path, _: Options) -> Iterator[Found]:
    """Yield the messages of an export of Claude and, of a folder, its memories too."""
    files = [path]
    if path.is_dir():
        files = [
            each
            for name in ("conversations", "memories")
            if (each := path / f"{name}.json").exists()
        ]
        if not files:
            raise InputRefused(
                f"{path} holds neither conversations.json nor memories.json",
                recovery="Unpack the export and name its folder.",
            )
    for file in files:
        for place, each in json_items(file):
            if isinstance(each, dict) and isinstance(each.get("chat_messages"), list):
                yield from _claude_conversation(place, each)
            elif isinstance(each, dict):
                yield from _claude_memories(place, each)
            else:
                yield Left(place=place, what="item", why="it is no conversation")


def _claude_conversation(place: str, given: Mapping[str, Any]) -> Iterator[Found]:
    thread = _thread(given.get("name"), given.get("uuid"))
    for number, each in enumerate(given["chat_messages"], start=1):
        here = f"{place} message {number}"
        said = isinstance(each, dict) and (message_text(each.get("content")) or each.get("text"))
        if not said or not str(said).strip():
            yield Left(place=here, what="message", why="it has no text")
            continue
        yield _message(
            here,
            said,
            thread,
            key=str(each.get("uuid") or here),
            role=_ROLES.get(str(each.get("sender"))),
            at=moment(each.get("created_at")),
        )


def _claude_memories(place: str, given: Mapping[str, Any]) -> Iterator[Found]:
    """Yield the summaries that Claude keeps: one of all conversations, and one per project."""
    texts = {"conversations_memory": given.get("conversations_memory")}
    projects = given.get("project_memories")
    if isinstance(projects, dict):
        texts |= {f"project {name}": text for name, text in projects.items()}
    for name, text in texts.items():
        if isinstance(text, str) and text.strip():
            key = f"{given.get('account_uuid', '')} {name}"
            yield Learn(
                place=f"{place}: {name}",
                key=key,
                at=None,
                lesson=lesson(text, thread=name[:NAME_LENGTH_MAX], tags=["claude/memory"]),
            )
        elif name != "conversations_memory":
            yield Left(place=place, what="memory", why="it has no text")


def read_chatgpt(path: Path, _: Options) -> Iterator[Found]:
    """Yield the messages that an export of ChatGPT shows; hidden ones are left."""
    file = path / "conversations.json" if path.is_dir() else path
    for place, each in json_items(file):
        if not isinstance(each, dict) or not isinstance(each.get("mapping"), dict):
            yield Left(place=place, what="item", why="it is no conversation")
            continue
        thread = _thread(each.get("title"), each.get("conversation_id") or each.get("id"))
        yield from _chatgpt_messages(
            place, thread, shown_branch(each["mapping"], each.get("current_node"))
        )


def _chatgpt_messages(place: str, thread: str, messages: Sequence[Any]) -> Iterator[Found]:
    for number, each in enumerate(messages, start=1):
        here = f"{place} message {number}"
        if is_hidden(each):
            yield Left(place=here, what="message", why="it is hidden")
            continue
        author = each.get("author")
        role = author.get("role") if isinstance(author, dict) else None
        yield _message(
            here,
            message_text(each.get("content")) or "",
            thread,
            key=str(each.get("id") or here),
            role=role if role in {"user", "assistant", "tool", "system"} else None,
            at=moment(each.get("create_time")),
        )


def _message(
    place: str, text: object, thread: str, *, key: str, role: str | None, at: str | None
) -> Learn:
    given = lesson(text, category=MESSAGE, thread=thread, role=role, metadata={"message_id": key})
    return Learn(place=place, key=key, at=at, lesson=given)


def _thread(name: object, identifier: object) -> str:
    """Return the name of a conversation with the beginning of its id: names are not unique."""
    mark = str(identifier or "")[:8]
    called = name.strip() if isinstance(name, str) else ""
    whole = f"{called[: NAME_LENGTH_MAX - 11]} ({mark})" if called and mark else called or mark
    return " ".join(whole.split()) or "conversation"
