"""Conversations used by several benchmarks, and how a host would learn them.

They are for evaluation only, in a shared folder next to the checkout: LoCoMo (Maharana et al. 2024,
CC BY-NC 4.0), and other data sets in the same format. Nothing of them may be committed.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from attrs import fields, frozen

FOLDER = Path(__file__).parents[2] / "shared" / "data"
DATA = FOLDER / "locomo-dev.json"
KINDS = ("single-hop", "multi-hop", "temporal", "open-domain")
"""Kinds of question in LoCoMo; other data sets have others."""


@frozen(kw_only=True)
class Turn:
    """One turn of a conversation."""

    id: str
    session: int
    at: str
    """ISO 8601 without a zone: UTC for us."""
    speaker: str
    text: str


@frozen(kw_only=True)
class Question:
    """A question about a conversation, and the turns that hold the answer."""

    text: str
    kind: str
    evidence: frozenset[str]
    """Never empty, and known when the question is asked."""
    asked_before: str | None = None
    """The turn before which it is asked; None: it is asked after the last one."""


@frozen(kw_only=True)
class Conversation:
    """A conversation of many sessions and the questions about it."""

    id: str
    turns: tuple[Turn, ...]
    questions: tuple[Question, ...]

    @property
    def end(self) -> datetime:
        """An hour after the last turn."""
        return self.after(len(self.turns))

    def after(self, count: int) -> datetime:
        """Return an hour after the last of the first *count* turns; at least one."""
        last = max(datetime.fromisoformat(turn.at) for turn in self.turns[:count])
        return last.replace(tzinfo=UTC) + timedelta(hours=1)

    def known(self, question: Question) -> int:
        """Return how many turns had been said when *question* was asked."""
        if question.asked_before is None:
            return len(self.turns)
        return [turn.id for turn in self.turns].index(question.asked_before)

    def sessions(self) -> list[list[Turn]]:
        """Return the turns of each session, sessions and turns in order."""
        found: dict[int, list[Turn]] = {}
        for turn in self.turns:
            found.setdefault(turn.session, []).append(turn)
        return [found[session] for session in sorted(found)]


class NoData(SystemExit):
    """There are no conversations to measure on.

    If the default path is missing, the program exits without an error: most checkouts have none.
    """

    def __init__(self, path: Path) -> None:
        print(
            f"No conversations at {path}: nothing measured.\n"
            "Give a file with --data: {conversations: [{id, turns: [{id, session, at, speaker, "
            "text}], questions: [{question, kind, evidence, asked_before (optional)}]}]}.",
            file=sys.stderr,
        )
        super().__init__(0 if path in (DATA, FOLDER) else 2)


def load(path: Path, only: Sequence[str] = ()) -> list[Conversation]:
    """Return the conversations of *path*, or only the named ones.

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


def data_sets(folder: Path = FOLDER) -> list[Path]:
    """Return the files with conversations in *folder*, by name.

    Raises:
        NoData: There are none.
    """
    found = [
        path
        for path in sorted(folder.glob("*.json"))
        if "conversations" in json.loads(path.read_bytes())
    ]
    if not found:
        raise NoData(folder)
    return found


def _conversation(plain: dict[str, Any]) -> Conversation:
    turns = tuple(_turn(each) for each in plain["turns"])
    places = {turn.id: place for place, turn in enumerate(turns)}
    questions = (_question(each, places) for each in plain["questions"])
    return Conversation(
        id=plain["id"],
        turns=turns,
        questions=tuple(question for question in questions if question.evidence),
    )


def _turn(plain: dict[str, Any]) -> Turn:
    return Turn(**{each.name: plain[each.name] for each in fields(Turn)})


def _question(plain: dict[str, Any], places: dict[str, int]) -> Question:
    before = plain.get("asked_before")
    if before is not None and before not in places:
        raise SystemExit(f"A question is asked before {before!r}, and there is no such turn.")
    known = len(places) if before is None else places[before]
    return Question(
        text=plain["question"],
        kind=plain["kind"],
        evidence=frozenset(
            turn for turn in plain["evidence"] if places.get(turn, len(places)) < known
        ),
        asked_before=before,
    )


def lessons(
    conversation: str, turns: Sequence[Turn], *, threads: bool = True
) -> list[dict[str, Any]]:
    """Return the arguments of ``learn_many`` for *turns*.

    Args:
        conversation: Its id.
        turns: In the order in which they were said.
        threads: Whether to name the session of each turn.
    """
    return [
        {
            "content": turn.text,
            "category": "message",
            "author": turn.speaker,  # a role of the speaker (user, assistant) would be passed here
            "created_at": turn.at,
            "thread": f"{conversation}/{turn.session}" if threads else None,
        }
        for turn in turns
    ]
