"""txtai: an embeddings index in memory, written to disk by an explicit call."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from peers.port import (
    TOP_K,
    Item,
    Peer,
    Vectors,
    module,
)


class Txtai(Peer):
    """One index with vectors from outside."""

    name: ClassVar[str] = "txtai"
    requirements: ClassVar[tuple[str, ...]] = ("txtai==9.14.0",)
    search: ClassVar[str] = "vectors (faiss)"
    durability: ClassVar[str] = "nothing, until `save()`"
    note: ClassVar[str] = (
        "ids without content, saved once at the end; most of its memory is torch, which it imports"
    )

    def __init__(self, folder: Path, vectors: Vectors) -> None:
        """Make the index."""
        super().__init__(folder, vectors)

        def transform(texts: Sequence[str]) -> NDArray[np.float32]:
            return vectors.rows(texts)

        # It accepts a function, and treats anything else as one that makes functions.
        config = {"method": "external", "transform": transform}
        self._embeddings = module("txtai.embeddings").Embeddings(config)

    def write(self, item: Item) -> None:
        """Upsert one text."""
        self._embeddings.upsert([(item.id, item.line)])

    def write_many(self, items: Sequence[Item]) -> None:
        """Index all texts at once."""
        self._embeddings.index([(item.id, item.line) for item in items])

    def settle(self) -> None:
        """Save the index."""
        self._embeddings.save(str(self.folder / "index"))

    def ask(self, question: str) -> list[str]:
        """Search by vector."""
        return [found for found, _ in self._embeddings.search(question, TOP_K)]

    def close(self) -> None:
        """Close the index."""
        self._embeddings.close()
