"""A reader of a crowd: reads while others write, and compares each answer with the one before.

What is visibly wrong (an answer of an older version than the one before, half a batch) is reported
as trouble at once. Everything else is recorded, to be compared with the log at the end.
"""
# ruff: noqa: S311 - chance is seeded, not secret

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeVar

from attrs import define, field

from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.inprocess.operations.answer_version import asked, version_of
from mnemic.adapters.inprocess.view import SyncView
from mnemic.kernel.results import Block
from tests.torture.crowds.journal import (
    WORDS,
    Heard,
    Seen,
    digest,
)
from tests.torture.crowds.writers import STAR

T = TypeVar("T")

PAGE = 1000
"""Most blocks in one request."""
TAIL = 120
"""Events whose blocks are compared."""
TROUBLES_MAX = 5


@define
class Reader:
    """One reader at its interface.

    Args:
        memory: May not write.
        name: Who it is.
        until_s: When to stop, on the monotonic clock.
        now: By which instant views of the past are asked.
        stands_still: Whether that is what the interface's own clock shows, and always.
        seed: Of what is asked.
    """

    memory: SyncMemory
    name: str
    until_s: float
    now: datetime
    stands_still: bool
    seed: int
    seen: list[Seen] = field(init=False, factory=list)
    _versions: set[int] = field(init=False, factory=set)
    _troubles: list[str] = field(init=False, factory=list)
    _waits_s: list[float] = field(init=False, factory=list)
    _latest: int = field(init=False, default=-1)
    _listed: int = field(init=False, default=-1)
    """Blocks learned up to here have been looked at."""
    _hubs: list[str] = field(init=False, factory=list)
    """First blocks of batches, which may be the middle of a star."""
    _wholes: int = field(init=False, default=0)

    def work(self) -> None:
        """Run one query after another until it is time to stop."""
        chance = random.Random(f"{self.seed} {self.name}")
        questions = [self._status, self._batches, self._stars, self._past]
        if self.stands_still:
            questions.append(self._present)
        while time.monotonic() < self.until_s and len(self._troubles) < TROUBLES_MAX:
            question, begun = chance.choice(questions), time.perf_counter()
            question(chance)
            self._waits_s.append(time.perf_counter() - begun)

    def heard(self) -> Heard:
        """Return the final record, without the answers."""
        return Heard(
            who=self.name,
            answers=len(self._waits_s),
            worst_s=max(self._waits_s, default=0.0),
            wholes=self._wholes,
            versions=sorted(self._versions),
            troubles=self._troubles,
        )

    def _ask(self, question: Callable[[], T]) -> tuple[T, int]:
        """Return an answer and the version it was computed at, which never goes back."""
        answer, version = asked(self.memory, question)
        self._versions.add(version)
        if version < self._latest:
            self._troubles.append(f"{self.name}: version {version} after {self._latest}")
        self._latest = version
        return answer, version

    # --- questions ------------------------------------------------------------------------------

    def _status(self, _chance: random.Random) -> None:
        status, version = self._ask(self.memory.status)
        if status.version != version:
            self._troubles.append(f"{self.name}: status of {status.version} at {version}")

    def _batches(self, _chance: random.Random) -> None:
        """Check what was learned since the last time: each batch is complete."""
        page, version = self._ask(lambda: self.memory.blocks(after=self._listed, limit=PAGE))
        threads = [each.thread for each in page.items if each.thread]
        for thread, count in Counter(threads).items():
            if count != int(thread.split(" of ")[1]):
                self._troubles.append(f"{self.name}: {count} blocks of {thread} at {version}")
        self._wholes += len(set(threads))
        for place, each in enumerate(page.items):
            if each.thread and (place == 0 or page.items[place - 1].thread != each.thread):
                self._hubs.append(each.id)
        self._listed = max([self._listed, *(each.learned_version for each in page.items)])

    def _stars(self, chance: random.Random) -> None:
        """Check edges that were connected together: all exist, or none does."""
        if not self._hubs:
            return
        hub = chance.choice(self._hubs[-12:])
        (edges, waiting), version = self._ask(
            lambda: (self.memory.edges(hub), self.memory.pending_connections())
        )
        ends = [each for each in waiting if hub in {each.source_id, each.target_id}]
        notes = [each.note for each in (*edges, *ends) if (each.note or "").startswith("star ")]
        if len(notes) not in {0, STAR}:
            self._troubles.append(f"{self.name}: {len(notes)} edges of {notes[0]} at {version}")
        self._wholes += bool(notes)

    def _present(self, chance: random.Random) -> None:
        head, choice = version_of(self.memory), chance.randrange(1000)
        answer, version = self._ask(lambda: told(self.memory, choice))
        self._saw(head, version, choice, answer=answer, past=False)

    def _past(self, chance: random.Random) -> None:
        head, choice = version_of(self.memory), chance.randrange(1000)
        self._versions.add(head)
        version = chance.randint(max(1, head - 400), head)
        view = self.memory.as_of(version=version, now=self.now)
        self._saw(head, version, choice, answer=told(view, choice), past=True)

    def _saw(self, head: int, version: int, choice: int, *, answer: Any, past: bool) -> None:
        self.seen.append(
            Seen(
                who=self.name,
                head=head,
                version=version,
                choice=choice,
                answer=digest(answer),
                past=past,
            )
        )


def told(interface: SyncMemory | SyncView, choice: int) -> dict[str, Any]:
    """Return blocks, edges and an answer, as plain values."""
    question = f"{WORDS[choice % len(WORDS)]} {WORDS[choice // 7 % len(WORDS)]}"
    version = interface.status().version
    blocks = interface.blocks(after=max(-1, version - TAIL), limit=PAGE).items
    some: list[Block] = [*blocks[choice % 5 :: 9]]
    if isinstance(interface, SyncView):
        found = interface.recall(question)
    else:
        found = interface.recall(question, record=False)
    return {
        "version": version,
        "blocks": [each.to_dict() for each in blocks],
        "edges": [[edge.to_dict() for edge in interface.edges(each.id)] for each in some],
        "ledger": [each.to_dict() for each in interface.ledger(limit=3)],
        "waiting": [each.to_dict() for each in interface.pending_connections()],
        "found": found.to_dict(),
    }
