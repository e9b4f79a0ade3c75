"""A host with components of its own: an embedder, an analyst and a clock, each of a few lines.

A ship keeps its log in mnemic. Its clock is the ship's bell, which strikes every half hour of the
watch; its embedder compares texts by the letter trigrams in them; its analyst looks for the
names of harbours. The components satisfy the contracts of the extra ``mnemic[specs]``; see
``tests/examples/test_custom_host.py``.

    python examples/custom_host.py
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from mnemic.adapters.inprocess import SyncMemory
from mnemic.kernel.events import EmbedderIdentity
from mnemic.kernel.ports import Analysis, Passage

HARBOURS = ("Bergen", "Cuxhaven", "Hull")
WATCH = (
    "We moored at Bergen and took water on board.",
    "The pilot of Cuxhaven comes on board at the lightship.",
    "The forward pump leaks; the carpenter has been told.",
    "Fog off Hull, so we sound the horn every two minutes.",
)


class Bell:
    """A clock that advances half an hour with each stroke, regardless of real time."""

    HALF_HOUR_US = 30 * 60 * 1_000_000

    def __init__(self, strokes: int = 982_000) -> None:
        self.strokes = strokes

    def now_us(self) -> int:
        """Return microseconds since the epoch, UTC."""
        return self.strokes * self.HALF_HOUR_US


class Trigrams:
    """An embedder that counts letter trigrams in 512 buckets."""

    identity = EmbedderIdentity(name="trigrams", dimension=512)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return one row per text."""
        rows = np.zeros((len(texts), self.identity.dimension))
        for row, text in zip(rows, texts, strict=True):
            letters = f"  {text.casefold()} "
            for start in range(len(letters) - 2):
                triple = letters[start : start + 3].encode(errors="replace")
                place = int.from_bytes(blake2b(triple, digest_size=2).digest(), "big")
                row[place % len(row)] += 1
        return rows


class Harbourmaster:
    """An analyst that tags a block with the harbours that it names."""

    name = "harbourmaster"

    def analyse(self, passages: Sequence[Passage]) -> Iterable[Analysis]:
        """Yield one analysis per passage."""
        for passage in passages:
            named = (harbour.lower() for harbour in HARBOURS if harbour in passage.content)
            yield Analysis(tags=tuple(named))


def main() -> None:
    """Keep the log of one watch, query it, and query it as of an earlier hour."""
    bell = Bell()
    with SyncMemory.open(
        ":memory:", embedder=Trigrams(), analyst=Harbourmaster(), clock=bell, actor="mate"
    ) as memory:
        with memory.session():
            for line in WATCH:
                memory.learn(line, author="mate")
                bell.strokes += 1
            asked = memory.recall("Is anything leaking?", top_k=1)
            print(asked.text)
            memory.outcome(decision_id=asked.decision_id, signal=0.9, source="carpenter")
            (pump,) = asked.block_ids
            memory.revise(pump, "The forward pump is tight again.", "the carpenter has mended it")
        print("\nHarbours")
        for block in memory.blocks(status="active").items:
            for harbour in block.tags:
                print(f"  {harbour}: {block.content}")
        print("\nThe pump now:", memory.recall("forward pump", top_k=1).blocks[0].content)
        then = memory.as_of(decision=asked.decision_id)
        print(f"The pump {then.hour:g} hours into the watch:", then.block(pump).content)
        print(memory.replay(str(asked.decision_id)).summary)


if __name__ == "__main__":
    main()
