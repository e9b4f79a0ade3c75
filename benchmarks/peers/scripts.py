"""Scripts: what is said to a memory and asked of it, as data that any memory can be given.

A script is played on a new memory. Its outcome holds what the steps that ask something returned, in
their order; nothing here judges them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from attrs import asdict, frozen
from peers.port import Ability, Answer, Item, Peer, Replays, Vectors

Action = Literal["write", "ask", "revise", "pass", "list", "links", "erase", "replay"]


@frozen(kw_only=True)
class Step:
    """One thing to do."""

    do: Action
    items: Sequence[Item] = ()
    """``write``: all of them. ``revise``: the first replaces *old*."""
    old: str = ""
    question: str = ""
    user: str | None = None
    record: bool = False
    days: float = 0.0
    in_use: bool = False


def write(*items: Item) -> Step:
    """Write items, and complete pending work."""
    return Step(do="write", items=items)


def ask(question: str, *, user: str | None = None, record: bool = False) -> Step:
    """Ask; the outcome is an ``Answer``."""
    return Step(do="ask", question=question, user=user, record=record)


def revise(old: str, item: Item) -> Step:
    """Replace the item with the id *old*."""
    return Step(do="revise", items=(item,), old=old)


def pass_time(days: float, *, in_use: bool = False) -> Step:
    """Move the clock ahead, in use all the while or not at all."""
    return Step(do="pass", days=days, in_use=in_use)


LIST = Step(do="list")
"""List what is kept; the outcome is a list of ids."""
LINKS = Step(do="links")
"""List contradictions; the outcome is a list of pairs of ids."""
ERASE_ONE = Step(do="erase")
"""Erase the first of the items that the fewest recorded answers contain: one, as a rule."""
REPLAY = Step(do="replay")
"""Compute the recorded answers again; the outcome is ``Replays``."""


@frozen(kw_only=True)
class Script:
    """Steps in a new memory."""

    steps: Sequence[Step]
    now: str
    """When it begins, for a memory whose clock can be set. ISO 8601, UTC."""
    needs: AbstractSet[Ability] = frozenset()
    """A memory without these is not given the script."""

    def texts(self) -> list[str]:
        """Return all texts whose vectors a memory may need; some embed lower case."""
        said = [
            text
            for step in self.steps
            for item in step.items
            for text in (item.text, item.line, item.line.lower())
        ]
        return [*said, *(step.question for step in self.steps if step.question)]

    def plain(self) -> dict[str, Any]:
        """Return it as values for JSON."""
        return asdict(self) | {"needs": sorted(self.needs)}

    @classmethod
    def restored(cls, plain: dict[str, Any]) -> Script:
        """Return the script that *plain* was made of."""
        steps = [
            Step(**step | {"items": [Item(**item) for item in step["items"]]})
            for step in plain["steps"]
        ]
        needs = frozenset(map(Ability, plain["needs"]))
        return cls(steps=steps, now=plain["now"], needs=needs)


Returned = Answer | Replays | list[str] | list[tuple[str, str]]
Outcome = list[Any] | None
"""What the steps of a script returned, as plain values; None: the memory cannot play it."""


def played(script: Script, kind: type[Peer], folder: Path, vectors: Vectors) -> Outcome:
    """Play *script* on a new memory in *folder*."""
    if not script.needs <= kind.abilities:
        return None
    peer = kind.opened_at(folder, vectors, datetime.fromisoformat(script.now))
    try:
        return _Stage(peer).outcome(script.steps)
    finally:
        peer.close()


class _Stage:
    """One memory, and the recorded answers so far."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        self._recorded: list[list[str]] = []

    def outcome(self, steps: Sequence[Step]) -> list[Any]:
        """Take all steps."""
        returned = [self._taken(step) for step in steps]
        return [
            asdict(each) if isinstance(each, Answer | Replays) else each
            for each in returned
            if each is not None
        ]

    def _taken(self, step: Step) -> Returned | None:
        match step.do:
            case "ask":
                return self._answer(step)
            case "list":
                return self._peer.listed()
            case "links":
                return self._peer.contradictions()
            case "replay":
                return self._peer.replays()
            case _:
                self._change(step)
        return None

    def _change(self, step: Step) -> None:
        peer = self._peer
        match step.do:
            case "write":
                peer.write_many(step.items)
                peer.settle()
            case "revise":
                peer.revise(step.old, step.items[0])
                peer.settle()
            case "pass":
                peer.pass_time(step.days, in_use=step.in_use)
            case "erase":
                peer.erase(self._seldom_returned())
            case _:
                raise ValueError(f"no such step: {step.do}")

    def _answer(self, step: Step) -> Answer:
        answer = self._peer.answer(step.question, user=step.user, record=step.record)
        if step.record:
            self._recorded.append(answer.ids)
        return answer

    def _seldom_returned(self) -> str:
        counts = Counter(item for answer in self._recorded for item in answer)
        return min(counts, key=counts.__getitem__)
