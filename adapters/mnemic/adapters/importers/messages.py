"""Messages in JSON: with roles, as in transcripts of models, or with names of people.

    [{"role": "user", "content": "Hello!"}, …]              one conversation
    {"id": …, "messages": [{"role": …, "content": …}, …]}   one, or a list of them
    [{"title": …, "mapping": {…}}, …]                       an export of ChatGPT: trees
    one object per line, of any of these kinds

A message has its text in ``content`` or ``text``; it may have a name or a role, a date in one of
the usual keys (ISO 8601, or seconds or milliseconds since 1970), a thread, and an id. Of a tree
the branch shown last is read; hidden messages and nodes without text are skipped.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from attrs import evolve, frozen

from mnemic.adapters.importers.conversations import CATEGORY
from mnemic.adapters.importers.lines import Line
from mnemic.adapters.importers.parsed_items import (
    NO_LABELS,
    InputRefused,
    Item,
    Labels,
    Sitting,
    Source,
    item,
)
from mnemic.kernel.decisions.learning import UNDATED
from mnemic.kernel.roles import role_named
from mnemic.kernel.validation import NAME_LENGTH_MAX

_MARKS: Final = frozenset({"role", "messages", "mapping"})
"""Keys of which an object of a transcript usually has one, and a memory none."""
_TEXTS: Final = ("content", "text", "body", "message")
_AUTHORS: Final = ("name", "author", "speaker", "sender", "from", "user", "username", "role")
_SPEAKERS: Final = frozenset(_AUTHORS) - {"author"}  # which a memory may have
_DATES: Final = ("created_at", "timestamp", "create_time", "date", "time", "at", "ts")
_THREADS: Final = ("thread", "thread_id", "thread_ts", "conversation_id", "conversation", "channel")
_IDS: Final = ("id", "message_id", "uuid")
_TITLE_LENGTH: Final = NAME_LENGTH_MAX - len(" (10000)")
_MILLISECONDS: Final = 1e11
"""In seconds this is the year 5138, in milliseconds 1973."""
_SECONDS: Final = re.compile(r"\d{9,13}(?:\.\d+)?")
"""A number written as text; fewer digits are a date without hyphens."""
_NOT_A_MESSAGE: Final = 'Write {"role": "user", "content": "…"}, or a name in place of the role.'


@frozen(kw_only=True)
class Conversation:
    """Messages that belong together."""

    name: str | None
    """Its name in the file."""
    messages: Sequence[Any]


def is_transcript(given: object) -> bool:
    """Whether an object is a message or a conversation; a memory is neither."""
    if not isinstance(given, dict):
        return False
    keys = set(given)
    speaks = not keys.isdisjoint(_AUTHORS) if "content" not in keys else bool(keys & _SPEAKERS)
    return bool(keys & _MARKS) or (speaks and not keys.isdisjoint(_TEXTS))


def sittings(
    source: Source,
    documents: Iterable[Line],
    labels: Labels = NO_LABELS,
    *,
    only: str | None = None,
) -> list[Sitting]:
    """Return one sitting per thread, in the order of their first messages.

    Args:
        source: The file.
        documents: The whole file as one document, or one for each of its lines.
        labels: Values for the whole file.
        only: The one thread to read; None: all.

    Raises:
        InputRefused: There is no such thread.
    """
    threads: dict[str | None, list[Item]] = {}
    for document in documents:
        for thread, each in _items(source, document, labels):
            threads.setdefault(thread, []).append(each)
    if only is not None and only not in threads:
        known = ", ".join(thread for thread in threads if thread) or "none that has a name"
        raise InputRefused(
            f"{source.name} has no conversation {only!r}", recovery=f"Choose from {known}."
        )
    return [
        Sitting(name=thread or source.name, items=items, size=len(items))
        for thread, items in threads.items()
        if only in {None, thread}
    ]


def _items(source: Source, document: Line, labels: Labels) -> Iterator[tuple[str | None, Item]]:
    if isinstance(document.given, InputRefused):
        yield source.thread, Item(place=document.place, refusal=document.given)
        return
    conversations = _conversations(document.given)
    names = Counter(each.name for each in conversations)
    for number, conversation in enumerate(conversations, start=1):
        called = conversation.name
        if called is not None and names[called] > 1:
            called = f"{called} ({number})"
        for position, message in enumerate(conversation.messages, start=1):
            many = len(conversation.messages) > 1
            place = " ".join(
                (f"{document.place}:", *([called] if called else []), *([str(position)] * many))
            )
            yield _message(place.rstrip(":"), message, called or source.thread, labels)


# --- conversations ------------------------------------------------------------------------------


def _conversations(document: Any) -> list[Conversation]:
    """Return the conversations of a document; an object of another form counts as a message."""
    match document:
        case {"mapping": dict(tree)}:
            branch = shown_branch(tree, document.get("current_node"))
            return [
                Conversation(
                    name=_called(document),
                    messages=[each for each in branch if not is_hidden(each)],
                )
            ]
        case {"messages": list(messages)}:
            return [Conversation(name=_called(document), messages=messages)]
        case [*members] if any(_holds_messages(member) for member in members):
            return [
                found
                for member in members
                for found in _conversations(member if _holds_messages(member) else [member])
            ]
        case list(messages):
            return [Conversation(name=None, messages=messages)]
        case _:
            return [Conversation(name=None, messages=[document])]


def _holds_messages(given: object) -> bool:
    return isinstance(given, dict) and ("mapping" in given or "messages" in given)


def _called(conversation: Mapping[str, Any]) -> str | None:
    called = _text_of(conversation, ("title", "name", *_THREADS, *_IDS))
    return None if called is None else called[:_TITLE_LENGTH]


def shown_branch(tree: Mapping[str, Any], last: object) -> list[Any]:
    """Return the messages with text from the root of a tree to the node that was shown last."""
    nodes = {key: node for key, node in tree.items() if isinstance(node, dict)}
    at = last if isinstance(last, str) and last in nodes else _last_leaf(nodes)
    found: list[Any] = []
    seen: set[str] = set()
    while at is not None and at in nodes and at not in seen:  # a damaged tree may be a ring
        seen.add(at)
        found.append(nodes[at].get("message"))
        parent = nodes[at].get("parent")
        at = parent if isinstance(parent, str) else None
    return [message for message in reversed(found) if _has_words(message)]


def is_hidden(message: Mapping[str, Any]) -> bool:
    """Whether ChatGPT does not show a message, such as its own notes about the user."""
    about = message.get("metadata")
    hidden = isinstance(about, dict) and about.get("is_visually_hidden_from_conversation")
    return bool(hidden)


def _last_leaf(nodes: Mapping[str, Mapping[str, Any]]) -> str | None:
    leaves = [key for key, node in nodes.items() if not node.get("children")]
    return leaves[-1] if leaves else None


def _has_words(message: object) -> bool:
    """Whether a node of a tree has text; many nodes only connect others."""
    if not isinstance(message, dict):
        return False
    words = message_text(message.get("content"))
    return bool(words and words.strip())


# --- messages -----------------------------------------------------------------------------------


def _message(
    place: str, given: object, thread: str | None, labels: Labels
) -> tuple[str | None, Item]:
    if not isinstance(given, dict):
        what = f"expected a message, got {type(given).__name__}"
        return thread, Item(place=place, refusal=InputRefused(what, recovery=_NOT_A_MESSAGE))
    words = next(
        (found for key in _TEXTS if (found := message_text(given.get(key))) is not None), None
    )
    if words is None:
        refusal = InputRefused("a message without a text", recovery=_NOT_A_MESSAGE)
        return thread, Item(place=place, refusal=refusal)
    own = _text_of(given, _THREADS)
    identifier, author = _text_of(given, _IDS), _text_of(given, _AUTHORS)
    role = role_named(_text_of(given, ("role",))) or role_named(author)
    about = {"turn": identifier, "role": role}
    said = {
        "content": words,
        "author": None if role_named(author) else author,
        "thread": own,
        "created_at": _date(next((given[key] for key in _DATES if given.get(key)), None)),
        "tags": given.get("tags"),
        "metadata": {key: value for key, value in about.items() if value} or None,
    }
    derived = {"category": CATEGORY, "thread": thread, "created_at": UNDATED}
    if role not in {None, "user"}:  # the author of a whole file is the person, not the model
        labels = evolve(labels, author=None)
    made = item(place, said, labels, derived=derived)
    return (own or thread), made


def message_text(content: object) -> str | None:
    """Return the text of a message; of several parts, those that are text."""
    match content:
        case {"parts": [*parts]} | [*parts]:
            found = [words for part in parts if (words := _part(part))]
            return "\n".join(found) if found else None
        case _:
            return _part(content)


def _part(content: object) -> str | None:
    match content:
        case str(text) | {"text": str(text)}:
            return text
        case _:
            return None


def _text_of(given: Mapping[str, Any], keys: Sequence[str]) -> str | None:
    """Return the value of the first key that holds a name or a number."""
    for key in keys:
        match given.get(key):
            case str(text) if text.strip():
                return text.strip()
            case int() | float() as number if not isinstance(number, bool):
                return str(number)
            case dict(inner):
                names = [inner.get(each) for each in ("name", "username", "role", "id")]
                if named := [name for name in names if isinstance(name, str) and name.strip()]:
                    return named[0].strip()
            case _:
                continue
    return None


def _date(given: object) -> object:
    """Return a date as ``learn`` takes it; an invalid one unchanged, to be counted as unknown."""
    if isinstance(given, str) and _SECONDS.fullmatch(given):
        given = float(given)
    if isinstance(given, bool) or not isinstance(given, int | float):
        return given
    seconds = given / 1_000 if abs(given) >= _MILLISECONDS else given
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat()
    except (OverflowError, OSError, ValueError):
        return str(given)
