"""Messages as agents hold them, turned into lessons.

    {"role": "user", "content": "…", "name": …, "tool_calls": […]}     OpenAI, also as its objects
    {"role": "user", "content": [{"type": "text", "text": "…"}, …]}    Anthropic
    {"type": "human", "data": {"content": "…"}}, or a message object   LangChain

A message may also have a ``name`` or an ``author``, a date (``created_at``, ``timestamp``,
``time``: ISO 8601, or seconds or milliseconds since 1970), an ``id``, a ``thread``, ``tags``
and ``metadata``. What is no text (calls of tools, images, files) is replaced by a line in brackets
that says what was left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from reprlib import repr as brief
from typing import Any, Final

import orjson
from attrs import frozen

from mnemic.kernel.decisions.learning import MESSAGE, Lesson
from mnemic.kernel.errors import FieldRefused
from mnemic.kernel.roles import role_named

SOURCES: Final = {"user": "user", "assistant": "agent", "tool": "tool", "system": "api"}
"""Source of a message by its role: it decides the trust zone."""
ARGUMENTS_SHOWN: Final = 200
"""Characters of a tool's arguments that its stand-in repeats."""
_DATES: Final = ("created_at", "timestamp", "time", "date")
_IDS: Final = ("message_id", "id", "uuid")
_AUTHORS: Final = ("author", "name", "speaker")
_MILLISECONDS: Final = 1e11
"""In seconds this is the year 5138, in milliseconds 1973."""
_HOW: Final = 'Write {"role": "user", "content": "…"}, with name, created_at and id if known.'


@frozen(kw_only=True)
class Labels:
    """Values for all messages of one call. Those of a message itself take precedence."""

    thread: str | None = None
    scope: Mapping[str, str] | None = None
    zone: str | None = None


def lesson_of(given: object, labels: Labels) -> Lesson:
    """Return one message as a lesson of the category ``message``.

    Args:
        given: The message: a mapping, or an object of one of the libraries.
        labels: Values for all messages.

    Raises:
        FieldRefused: It is no message, or says nothing.
    """
    message = _plain(given)
    role = role_named(_name(message, ("role", "type")))
    if role is None and not any(key in message for key in ("role", *_AUTHORS)):
        raise FieldRefused(
            f"a message without a role or a name: {brief(given):.100}",
            recovery=_HOW,
            field="messages",
        )
    content = "\n".join(_parts(message)).strip()
    if not content:
        raise FieldRefused("a message without a text", recovery=_HOW, field="messages")
    identifier = _name(message, _IDS)
    metadata = message.get("metadata") or {}
    if not isinstance(metadata, Mapping):
        raise FieldRefused(
            f"metadata must be an object, got {brief(metadata):.100}", field="metadata"
        )
    author = _name(message, _AUTHORS)
    return Lesson(
        content=content,
        category=MESSAGE,
        source=SOURCES[role or "user"],
        author=None if role_named(author) else author,
        thread=_name(message, ("thread", "thread_id")) or labels.thread,
        created_at=_date(next((message[key] for key in _DATES if message.get(key)), None)),
        tags=message.get("tags") or (),
        zone=labels.zone,
        metadata=dict(metadata) | ({"message_id": identifier} if identifier else {}) or None,
        scope=labels.scope,
        role=role,
    )


def _plain(given: object) -> Mapping[str, Any]:
    """Return a message as a mapping with its fields at the top."""
    if not isinstance(given, Mapping) and callable(getattr(given, "model_dump", None)):
        given = given.model_dump()  # type: ignore[attr-defined]
    if not isinstance(given, Mapping):
        raise FieldRefused(f"not a message: {brief(given):.100}", recovery=_HOW, field="messages")
    if isinstance(given.get("data"), Mapping) and "content" not in given:
        given = {**given["data"], "type": given.get("type")}
    extra = given.get("additional_kwargs")
    return {**extra, **given} if isinstance(extra, Mapping) else given


def _name(message: Mapping[str, Any], keys: tuple[str, ...]) -> str | None:
    for key in keys:
        value = message.get(key)
        if isinstance(value, str) and value.strip():
            return value.strip()
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
    return None


def _parts(message: Mapping[str, Any]) -> Iterator[str]:
    """Yield the texts of a message, and a stand-in for each part that is none."""
    content = message.get("content")
    parts = content if isinstance(content, list | tuple) else [content]
    yield from (text for part in parts if (text := _part(part)) is not None)
    if any(isinstance(part, Mapping) and part.get("type") == "tool_use" for part in parts):
        return  # LangChain repeats these as its own calls
    calls = message.get("tool_calls")
    yield from map(_call, calls if isinstance(calls, list | tuple) else ())


def _part(part: object) -> str | None:  # noqa: PLR0911 - a case per kind of part
    """Return the text of one part, or its stand-in; None: it is no part of the conversation."""
    match part:
        case None | {"type": "thinking" | "redacted_thinking" | "reasoning"}:
            return None
        case str(text) | {"type": "text" | "input_text" | "output_text", "text": str(text)}:
            return text
        case {"type": "refusal", "refusal": str(text)}:
            return text
        case {"type": "tool_use", "name": name, **rest}:
            return _called(name, rest.get("input"))
        case {"type": "tool_result", **rest}:
            return f"[tool result left out: {_size(rest.get('content'))}]"
        case {"type": str(kind)}:
            return f"[{kind.replace('_', ' ')} left out]"
        case _:
            return f"[{type(part).__name__} left out]"


def _call(call: object) -> str:
    match call:
        case {"function": {"name": name, **rest}}:
            return _called(name, rest.get("arguments"))
        case {"name": name, **rest}:
            return _called(name, rest.get("args"))
        case _:
            return "[tool call left out]"


def _called(name: object, arguments: object) -> str:
    """Return the stand-in for a call of a tool."""
    shown = arguments if isinstance(arguments, str) else _json(arguments)
    if len(shown) > ARGUMENTS_SHOWN:
        left = len(shown) - ARGUMENTS_SHOWN
        shown = f"{shown[:ARGUMENTS_SHOWN]}… ({left} characters left out)"
    return f"[tool call: {name} {shown}]".replace("\n", " ")


def _json(value: object) -> str:
    try:
        return orjson.dumps(value).decode()
    except TypeError:
        return "(arguments left out)"


def _size(content: object) -> str:
    if isinstance(content, str):
        return f"{len(content)} characters"
    return f"{len(content)} parts" if isinstance(content, list | tuple) else "no text"


def _date(given: object) -> str | datetime | None:
    """Return a date as ``learn`` takes it."""
    if given is None or isinstance(given, str | datetime):
        return given
    if isinstance(given, bool) or not isinstance(given, int | float):
        raise FieldRefused(f"not a date: {brief(given):.100}", recovery=_HOW, field="created_at")
    seconds = given / 1_000 if abs(given) >= _MILLISECONDS else given
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, OSError, ValueError):
        raise FieldRefused(f"not a date: {brief(given):.100}", field="created_at") from None
