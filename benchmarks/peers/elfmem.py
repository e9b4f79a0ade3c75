"""elfmem, with its own mock as the language model, so that only its own work is timed."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from attrs import frozen
from numpy.typing import NDArray
from peers.port import (
    TOP_K,
    Ability,
    Answer,
    Item,
    Peer,
    Unfit,
    Vectors,
    module,
)

EVERYTHING = 1_000_000


@frozen
class Beforehand:
    """Its port for embedders."""

    vectors: Vectors
    model_name: str = "beforehand"

    async def embed(self, text: str) -> NDArray[np.float32]:
        """Return the vector of *text*."""
        return self.vectors.row(text)

    async def embed_batch(self, texts: list[str]) -> list[NDArray[np.float32]]:
        """Return one vector per text."""
        return list(self.vectors.rows(texts))


class Elfmem(Peer):
    """One session; consolidation ("dream") runs until the inbox is empty."""

    abilities: ClassVar[frozenset[Ability]] = frozenset({Ability.LISTING})
    name: ClassVar[str] = "elfmem"
    requirements: ClassVar[tuple[str, ...]] = ("elfmem==0.20.0",)
    search: ClassVar[str] = "words, vectors, graph"
    durability: ClassVar[str] = "power loss"
    note: ClassVar[str] = (
        "its mock of a language model, no cues, files not authoritative; learns one by one, then "
        "dreams of five at a time as by default, and in bulk of all at once. A call ends with "
        "closing the database, which flushes it four times"
    )

    def __init__(self, folder: Path, vectors: Vectors) -> None:
        """Open a database with its production settings."""
        super().__init__(folder, vectors)
        self._runner = asyncio.Runner()
        self._ids: dict[str, str] = {}
        self._system = self._runner.run(self._opened())

    async def _opened(self) -> Any:
        engine = await module("elfmem.db.engine").create_engine(str(self.folder / "elfmem.db"))
        async with engine.begin() as connection:
            await connection.run_sync(module("elfmem.db.models").metadata.create_all)
            await module("elfmem.db.queries").seed_builtin_data(connection)
        # A summary is what it embeds; an empty prefix leaves the text as it is.
        model = module("elfmem.adapters.mock").make_mock_llm(default_summary_prefix="")
        system = module("elfmem.api").MemorySystem(
            engine=engine, llm_service=model, embedding_service=Beforehand(self.vectors)
        )
        await system.begin_session()
        return system

    def write(self, item: Item) -> None:
        """Remember one thing."""
        learned = self._runner.run(self._system.remember(item.line))
        self._ids.setdefault(learned.block_id, item.id)

    def write_many(self, items: Sequence[Item]) -> None:
        """Learn one after the other, as there is no bulk call; then dream of all at once.

        To dream without the language model is no quicker here: the mock takes no time.
        """
        for item in items:
            self.write(item)
        self._runner.run(self._system.dream(inbox_max=len(items)))

    def settle(self) -> None:
        """Dream, five blocks at a time by default, until the inbox is empty."""
        while (dreamt := self._runner.run(self._system.dream())) is not None:
            if dreamt.processed == 0 and dreamt.inbox_remaining > 0:
                raise Unfit(f"dreams of nothing while {dreamt.inbox_remaining} blocks wait")

    def ask(self, question: str) -> list[str]:
        """Query with the frame that reinforces the blocks that it returns."""
        return self.answer(question).ids

    def answer(self, question: str, *, user: str | None = None, record: bool = False) -> Answer:
        """Query with that frame; its documentation advises against a threshold on its scores."""
        del user, record
        frame = self._runner.run(self._system.frame("attention", question, top_k=TOP_K))
        return Answer(
            ids=[self._ids[block.id] for block in frame.blocks],
            scores=[float(block.score) for block in frame.blocks],
        )

    def revise(self, old: str, item: Item) -> None:
        """Edit the block in place."""
        self.settle()
        (block,) = [block for block, known in self._ids.items() if known == old]
        self._runner.run(self._system.edit(block, item.line))
        self._ids[block] = item.id

    def listed(self) -> list[str]:
        """Return the active blocks; nothing waits once the inbox is empty."""
        blocks = self._runner.run(self._system.ls(limit=EVERYTHING))
        return [self._ids[block.id] for block in blocks]

    def close(self) -> None:
        """End the session and close the database."""
        self._runner.run(self._system.end_session())
        self._runner.run(self._system.close())
        self._runner.close()
