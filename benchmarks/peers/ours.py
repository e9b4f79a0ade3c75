"""mnemic, given speakers, dates and sessions, with durable writes."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import datetime
from importlib.metadata import version
from operator import attrgetter
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from attrs import frozen
from numpy.typing import NDArray
from peers.port import (
    TOP_K,
    Ability,
    Answer,
    Item,
    Peer,
    Replays,
    Vectors,
)

from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.system.clocks import ManualClock
from mnemic.adapters.system.entropy import SeededEntropy
from mnemic.kernel.events import EmbedderIdentity
from mnemic.kernel.results import ConsolidateResult, RecallResult

HOURS_A_DAY = 24


@frozen
class Beforehand:
    """Embedder that looks up vectors computed beforehand."""

    vectors: Vectors

    @property
    def identity(self) -> EmbedderIdentity:
        """A name of its own, as the origin of the vectors does not matter here."""
        return EmbedderIdentity(name="beforehand", dimension=self.vectors.dimension)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row per text."""
        return self.vectors.rows(texts)


@frozen(kw_only=True)
class Release:
    """What the release at hand can do; older ones are measured too, as far as they go."""

    scopes: bool
    """``learn`` and ``recall`` accept a scope."""
    verdicts: bool
    """An answer says how sure it is."""
    links: bool
    """Consolidation notes contradictions."""

    @classmethod
    def at_hand(cls) -> Release:
        """Look at the signatures and the results."""
        operations = (SyncMemory.learn, SyncMemory.recall)
        return cls(
            scopes=all("scope" in inspect.signature(each).parameters for each in operations),
            verdicts=hasattr(RecallResult, "answerable"),
            links=hasattr(ConsolidateResult, "contradictions"),
        )

    def lesson(self, item: Item) -> dict[str, Any]:
        """Return the arguments of ``learn`` for *item*."""
        user = {"user": item.user}
        scoped = {"scope": user} if self.scopes else {"metadata": user}
        return {
            "content": item.text,
            "category": item.category,
            "author": item.author,
            "created_at": item.at,
            "thread": item.thread,
        } | (scoped if item.user else {})

    def asked_by(self, user: str | None) -> dict[str, Any]:
        """Return the arguments of ``recall`` for a question of *user*."""
        if user is None:
            return {}
        return {"scope": {"user": user}} if self.scopes else {"where": {"metadata": {"user": user}}}

    def judged(self, answer: RecallResult) -> dict[str, Any]:
        """Return the verdict of *answer*, if it has one."""
        if not self.verdicts:
            return {}
        answerable, verdict = attrgetter("answerable", "verdict")(answer)
        return {"answerable": float(answerable), "verdict": verdict}


RELEASE = Release.at_hand()


class Mnemic(Peer):
    """As shipped: a recall writes its decision durably before it answers."""

    name: ClassVar[str] = "mnemic"
    search: ClassVar[str] = "words, vectors, author, date, graph"
    durability: ClassVar[str] = "power loss"
    note: ClassVar[str] = "given the author, date and session of each turn; weights as shipped"
    record: ClassVar[bool] = True
    abilities: ClassVar[frozenset[Ability]] = frozenset(Ability) - (
        frozenset() if RELEASE.links else frozenset({Ability.LINKS})
    )

    def __init__(self, folder: Path, vectors: Vectors, clock: ManualClock | None = None) -> None:
        """Open a store in *folder*, with a session in it.

        With *clock* the store is in memory, and so are its random numbers the same every time.
        """
        super().__init__(folder, vectors)
        self._clock = clock
        self._memory = SyncMemory.open(
            folder / "memory.db" if clock is None else ":memory:",
            embedder=Beforehand(vectors),
            clock=clock,
            entropy=None if clock is None else SeededEntropy(),
        )
        self._stack = ExitStack()
        self._stack.enter_context(self._memory)
        self._memory.start_session()
        self._ids: dict[str, str] = {}

    @classmethod
    def opened_at(cls, folder: Path, vectors: Vectors, now: datetime) -> Self:
        """Open a memory with a clock that is set by hand."""
        clock = ManualClock()
        clock.set(now)
        return cls(folder, vectors, clock)

    @classmethod
    def release(cls) -> str:
        """Return the version of the checkout."""
        return version("mnemic")

    def write(self, item: Item) -> None:
        """Learn one item; the first of two with the same text represents both."""
        block = self._memory.learn(**RELEASE.lesson(item)).block_id
        self._ids.setdefault(block, item.id)

    def write_many(self, items: Sequence[Item]) -> None:
        """Learn all with one command."""
        learned = self._memory.learn_many([RELEASE.lesson(item) for item in items])
        for item, result in zip(items, learned.results, strict=True):
            self._ids.setdefault(result.block_id, item.id)

    def settle(self) -> None:
        """Embed and connect what was learned."""
        self._memory.consolidate()

    def ask(self, question: str) -> list[str]:
        """Recall."""
        answer = self._memory.recall(question, top_k=TOP_K, record=self.record)
        return [self._ids[block] for block in answer.block_ids]

    def answer(self, question: str, *, user: str | None = None, record: bool = False) -> Answer:
        """Recall, in the scope of a user."""
        found = self._memory.recall(question, top_k=TOP_K, record=record, **RELEASE.asked_by(user))
        return Answer(
            ids=[self._ids[block.id] for block in found.blocks],
            scores=[block.score for block in found.blocks],
            **RELEASE.judged(found),
        )

    def revise(self, old: str, item: Item) -> None:
        """Revise the block, which supersedes it."""
        revised = self._memory.revise(self._block(old), item.text, "a correction")
        self._ids[revised.block_id] = item.id

    def listed(self) -> list[str]:
        """Return the active blocks."""
        return [
            item
            for block, item in self._ids.items()
            if self._memory.block(block).status == "active"
        ]

    def contradictions(self) -> list[tuple[str, str]]:
        """Return the ends of the edges that consolidation formed."""
        edges = {
            (edge.source_id, edge.target_id)
            for block in self._ids
            for edge in self._memory.edges(block)
            if edge.relation == "contradicts"
        }
        return sorted((self._ids[source], self._ids[target]) for source, target in edges)

    def pass_time(self, days: float, *, in_use: bool) -> None:
        """Advance the clock; in use: with an event every hour, as no gap counts for more."""
        assert self._clock is not None, "only with a clock that is set by hand"
        if not in_use:
            self._clock.advance(days=days)
            return
        for _ in range(round(days * HOURS_A_DAY)):
            self._clock.advance(hours=1)
            self._memory.end_session()
            self._memory.start_session()

    def erase(self, item: str) -> None:
        """Erase the block."""
        self._memory.erase(self._block(item))

    def replays(self) -> Replays:
        """Replay all decisions."""
        found = self._memory.replay_all()
        return Replays(reproduced=found.reproduced, sealed=found.sealed, differs=found.differs)

    def close(self) -> None:
        """End the session and close the store."""
        self._memory.end_session()
        self._stack.close()

    def _block(self, item: str) -> str:
        return next(block for block, known in self._ids.items() if known == item)


class Unrecorded(Mnemic):
    """The same, where a recall leaves no trace, as with most others."""

    name: ClassVar[str] = "mnemic, not recorded"
    note: ClassVar[str] = "the same; its recalls write nothing"
    record: ClassVar[bool] = False
