"""The conversations that several benchmarks ask about, and how a host would learn them.

They are LoCoMo's (Maharana et al. 2024, CC BY-NC 4.0), for evaluation only, and stand beside the
checkout where projects share them. Nothing of them may be committed.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from attrs import frozen

DATA = Path(__file__).parents[2] / "shared" / "data" / "locomo-dev.json"
KINDS = ("single-hop", "multi-hop", "temporal", "open-domain")


@frozen(kw_only=True)
class Turn:
    """One thing that somebody said."""

    id: str
    session: int
    at: str
    """ISO 8601 without a zone: UTC for us."""
    speaker: str
    text: str


@frozen(kw_only=True)
class Question:
    """What is asked about a conversation, and the turns that hold the answer."""

    text: str
    kind: str
    evidence: frozenset[str]


@frozen(kw_only=True)
class Conversation:
    """A conversation of many sessions and the questions about it."""

    id: str
    turns: tuple[Turn, ...]
    questions: tuple[Question, ...]

    @property
    def end(self) -> datetime:
        """An hour after the last word."""
        last = max(datetime.fromisoformat(turn.at) for turn in self.turns)
        return last.replace(tzinfo=UTC) + timedelta(hours=1)

    def sessions(self) -> list[list[Turn]]:
        """Return the turns of each session, sessions and turns in order."""
        found: dict[int, list[Turn]] = {}
        for turn in self.turns:
            found.setdefault(turn.session, []).append(turn)
        return [found[session] for session in sorted(found)]


class NoData(SystemExit):
    """There are no conversations to measure on.

    Where they usually stand, that is no failure: most checkouts have none.
    """

    def __init__(self, path: Path) -> None:
        print(
            f"No conversations at {path}: nothing measured.\n"
            "Give a file with --data: LoCoMo as {conversations: [{id, turns: [{id, session, at, "
            "speaker, text}], questions: [{question, kind, evidence}]}]}.",
            file=sys.stderr,
        )
        super().__init__(0 if path == DATA else 2)


def load(path: Path, only: Sequence[str] = ()) -> list[Conversation]:
    """Return the conversations of *path*, or those among them that are named.

    Raises:
        NoData: There is no such file.
        SystemExit: A named conversation is not in it.
    """
    if not path.is_file():
        raise NoData(path)
    found = [_conversation(each) for each in json.loads(path.read_bytes())["conversations"]]
    known = {each.id for each in found}
    if unknown := sorted(set(only) - known):
        raise SystemExit(f"{path} has no {', '.join(unknown)}; it has {', '.join(sorted(known))}.")
    return [each for each in found if not only or each.id in only]


def _conversation(plain: dict[str, Any]) -> Conversation:
    turns = tuple(Turn(**turn) for turn in plain["turns"])
    known = {turn.id for turn in turns}
    questions = tuple(
        Question(
            text=each["question"],
            kind=each["kind"],
            evidence=frozenset(each["evidence"]) & known,
        )
        for each in plain["questions"]
    )
    return Conversation(
        id=plain["id"],
        turns=turns,
        questions=tuple(question for question in questions if question.evidence),
    )


def lessons(
    conversation: str, turns: Sequence[Turn], *, threads: bool = True
) -> list[dict[str, Any]]:
    """Return what ``learn_many`` takes to learn *turns*.

    Args:
        conversation: Its id.
        turns: In the order in which they were said.
        threads: Whether to say which session each belongs to.
    """
    return [
        {
            "content": turn.text,
            "category": "message",
            "author": turn.speaker,
            "created_at": turn.at,
            "thread": f"{conversation}/{turn.session}" if threads else None,
        }
        for turn in turns
    ]
