"""mnemic, with speakers, dates and sessions told, and every write durable."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from attrs import frozen
from numpy.typing import NDArray
from rivals.port import TOP_K, Item, Peer, Vectors

from mnemic.adapters.inprocess import SyncMemory
from mnemic.kernel.events import EmbedderIdentity


@frozen
class Beforehand:
    """An embedder that looks up what another one made."""

    vectors: Vectors

    @property
    def identity(self) -> EmbedderIdentity:
        """A name of its own: what made the vectors does not matter here."""
        return EmbedderIdentity(name="beforehand", dimension=self.vectors.dimension)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row per text."""
        return self.vectors.rows(texts)


def _lesson(item: Item) -> dict[str, Any]:
    return {
        "content": item.text,
        "category": "message",
        "author": item.author,
        "created_at": item.at,
        "thread": item.thread,
    }


class Mnemic(Peer):
    """As shipped: a recall writes its decision durably before it answers."""

    name: ClassVar[str] = "mnemic"
    search: ClassVar[str] = "words, vectors, author, date, graph"
    durability: ClassVar[str] = "power loss"
    note: ClassVar[str] = "told who spoke, when, and in which session; weights as shipped"
    record: ClassVar[bool] = True

    def __init__(self, folder: Path, vectors: Vectors) -> None:
        """Open a store in *folder*, with a session in it."""
        super().__init__(folder, vectors)
        opened = SyncMemory.open(folder / "memory.db", embedder=Beforehand(vectors))
        self._stack = ExitStack()
        self._memory = self._stack.enter_context(opened)
        self._stack.enter_context(self._memory.session())
        self._ids: dict[str, str] = {}

    @classmethod
    def release(cls) -> str:
        """Return the version of the checkout."""
        return version("mnemic")

    def write(self, item: Item) -> None:
        """Learn one thing; the first of two with the same words stands for both."""
        block = self._memory.learn(**_lesson(item)).block_id
        self._ids.setdefault(block, item.id)

    def write_many(self, items: Sequence[Item]) -> None:
        """Learn all with one command."""
        learned = self._memory.learn_many([_lesson(item) for item in items])
        for item, result in zip(items, learned.results, strict=True):
            self._ids.setdefault(result.block_id, item.id)

    def settle(self) -> None:
        """Embed and connect what was learned."""
        self._memory.consolidate()

    def ask(self, question: str) -> list[str]:
        """Recall."""
        answer = self._memory.recall(question, top_k=TOP_K, record=self.record)
        return [self._ids[block] for block in answer.block_ids]

    def close(self) -> None:
        """End the session and write what is to be written."""
        self._stack.close()


class Unrecorded(Mnemic):
    """The same, where a recall leaves no trace, as with most others."""

    name: ClassVar[str] = "mnemic, not recorded"
    note: ClassVar[str] = "the same; its recalls write nothing"
    record: ClassVar[bool] = False
