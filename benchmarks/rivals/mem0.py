"""mem0 without its language model: what is said is kept as it is, in a faiss index."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from attrs import frozen
from rivals.port import TOP_K, Item, Peer, Vectors, module

USER = "someone"


@frozen
class Beforehand:
    """Its port for embedders."""

    vectors: Vectors

    def embed(self, text: str, _action: str | None = None) -> list[float]:
        """Return the vector of *text*."""
        return self.vectors.lists([text])[0]

    def embed_batch(self, texts: Sequence[str], _action: str | None = None) -> list[list[float]]:
        """Return one vector per text."""
        return self.vectors.lists(texts)


class Mem0(Peer):
    """All of one user."""

    name: ClassVar[str] = "mem0 (infer=False, faiss)"
    requirements: ClassVar[tuple[str, ...]] = ("mem0ai==2.2.1", "faiss-cpu")
    search: ClassVar[str] = "vectors (faiss)"
    durability: ClassVar[str] = "the process; its history: power loss"
    note: ClassVar[str] = (
        "index and texts are written anew, as a whole, at every `add`: this is what grows. Words "
        "would count with another store than faiss, names with its `nlp` extra and `infer=True`"
    )

    def __init__(self, folder: Path, vectors: Vectors) -> None:
        """Configure the store as its documentation does, with our vectors for an embedder."""
        super().__init__(folder, vectors)
        place = {"path": str(folder / "faiss"), "embedding_model_dims": vectors.dimension}
        config = {
            "vector_store": {"provider": "faiss", "config": place},
            "history_db_path": str(folder / "history.db"),
        }
        self._memory: Any = module("mem0").Memory.from_config(config)  # makes clients, calls nobody
        self._memory.embedding_model = Beforehand(vectors)

    def write(self, item: Item) -> None:
        """Add one message."""
        self._memory.add(item.line, user_id=USER, metadata={"item": item.id}, infer=False)

    def write_many(self, items: Sequence[Item]) -> None:
        """Add one after the other, as mem0 does with the messages of one call."""
        for item in items:
            self.write(item)

    def ask(self, question: str) -> list[str]:
        """Search what the user said."""
        found = self._memory.search(question, filters={"user_id": USER}, top_k=TOP_K)
        return [each["metadata"]["item"] for each in found["results"]]
