"""The same conversations cut into other items: what a host stores is not always one message.

A question's evidence is then the items that hold its evidence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from attrs import evolve
from conversations import Conversation, Question, Turn

USER = "user"
ROLES = frozenset({USER, "assistant"})

Cut = Callable[[Conversation], Conversation]


def grains(conversations: Sequence[Conversation]) -> dict[str, list[Conversation]]:
    """Return the conversations in each grain that makes sense for them, by its name.

    As given, the name is empty. Conversations of a user with an assistant are also cut into user
    messages alone and into exchanges, others into sessions, unless each session is one item.
    """
    speakers = {turn.speaker for each in conversations for turn in each.turns}
    cuts: dict[str, Cut] = {"": as_given}
    if speakers <= ROLES:
        cuts |= {"user messages": user_messages, "exchange = item": exchanges}
    elif any(len(turns) > 1 for each in conversations for turns in each.sessions()):
        cuts["session = item"] = sessions
    return {name: [cut(each) for each in conversations] for name, cut in cuts.items()}


def as_given(conversation: Conversation) -> Conversation:
    """Return the conversation itself."""
    return conversation


def user_messages(conversation: Conversation) -> Conversation:
    """Return what the user said; questions without evidence in it are left out."""
    turns = [turn for turn in conversation.turns if turn.speaker == USER]
    items = {turn.id: turn.id for turn in turns}
    # A question asked before a message that is left out is asked before the next one that is not.
    following: dict[str, str | None] = {}
    upcoming: str | None = None
    for turn in reversed(conversation.turns):
        upcoming = items.get(turn.id, upcoming)
        following[turn.id] = upcoming
    return _cut(conversation, turns, items, following)


def exchanges(conversation: Conversation) -> Conversation:
    """Return items of a user message each, with everything up to the next one."""
    parts: list[list[Turn]] = []
    for turn in conversation.turns:
        if turn.speaker == USER or not parts:
            parts.append([])
        parts[-1].append(turn)
    return _joined(conversation, parts, "exchange")


def sessions(conversation: Conversation) -> Conversation:
    """Return items of a session each."""
    return _joined(conversation, conversation.sessions(), "session")


def _joined(
    conversation: Conversation, parts: Iterable[Sequence[Turn]], speaker: str
) -> Conversation:
    turns: list[Turn] = []
    items: dict[str, str] = {}
    for part in parts:
        lines = "\n".join(f"{turn.speaker}: {turn.text}" for turn in part)
        turns.append(evolve(part[0], speaker=speaker, text=lines))
        items |= {turn.id: part[0].id for turn in part}
    return _cut(conversation, turns, items, items)


def _cut(
    conversation: Conversation,
    turns: Sequence[Turn],
    items: Mapping[str, str],
    following: Mapping[str, str | None],
) -> Conversation:
    """Return the conversation with other turns.

    Args:
        conversation: As it was.
        turns: Its new items.
        items: The item that holds each former turn, of those that one holds.
        following: The item that a question asked before a former turn is asked before.
    """
    places = {turn.id: place for place, turn in enumerate(turns)}

    def adapted(question: Question) -> Question:
        before = question.asked_before and following[question.asked_before]
        known = len(turns) if before is None else places[before]
        held = {items[turn] for turn in question.evidence if turn in items}
        evidence = frozenset(item for item in held if places[item] < known)
        return evolve(question, evidence=evidence, asked_before=before)

    asked = [adapted(question) for question in conversation.questions]
    return evolve(
        conversation,
        turns=tuple(turns),
        questions=tuple(question for question in asked if question.evidence),
    )
