"""Chroma: a vector database in the same process, its index in files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from peers.port import (
    TOP_K,
    Item,
    Peer,
    Vectors,
    module,
)


class Chroma(Peer):
    """One collection of a persistent client."""

    name: ClassVar[str] = "Chroma"
    requirements: ClassVar[tuple[str, ...]] = ("chromadb==1.5.9",)
    search: ClassVar[str] = "vectors (HNSW)"
    durability: ClassVar[str] = "power loss"
    note: ClassVar[str] = (
        "persistent client, defaults of `create_collection`; its graph may miss a near one"
    )

    def __init__(self, folder: Path, vectors: Vectors) -> None:
        """Make the collection; vectors come from outside."""
        super().__init__(folder, vectors)
        quiet = module("chromadb.config").Settings(anonymized_telemetry=False)
        self._client = module("chromadb").PersistentClient(path=str(folder), settings=quiet)
        self._items = self._client.create_collection("items", embedding_function=None)

    def write(self, item: Item) -> None:
        """Add one document."""
        self.write_many([item])

    def write_many(self, items: Sequence[Item]) -> None:
        """Add all documents with one call."""
        lines = [item.line for item in items]
        self._items.add(
            ids=[item.id for item in items],
            documents=lines,
            embeddings=self.vectors.rows(lines),
        )

    def ask(self, question: str) -> list[str]:
        """Query by vector."""
        found = self._items.query(query_embeddings=self.vectors.rows([question]), n_results=TOP_K)
        ids: list[str] = found["ids"][0]
        return ids
