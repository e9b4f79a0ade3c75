"""mem0 without its language model: texts are stored unchanged, in a faiss index."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from attrs import frozen
from peers.port import (
    TOP_K,
    Ability,
    Answer,
    Item,
    Peer,
    Vectors,
    module,
)

USER = "someone"
EVERYTHING = 1_000_000


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
    """The memory of one user, or of several."""

    abilities: ClassVar[frozenset[Ability]] = frozenset({Ability.LISTING, Ability.USERS})
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
        self._memory: Any = module("mem0").Memory.from_config(config)  # makes no calls
        self._memory.embedding_model = Beforehand(vectors)
        self._keys: dict[str, str] = {}
        self._users: dict[str, None] = {}

    def write(self, item: Item) -> None:
        """Add one message."""
        user = item.user or USER
        added = self._memory.add(item.line, user_id=user, metadata={"item": item.id}, infer=False)
        self._keys.update((item.id, each["id"]) for each in added["results"])
        self._users[user] = None

    def write_many(self, items: Sequence[Item]) -> None:
        """Add one after the other, as mem0 does with the messages of one call."""
        for item in items:
            self.write(item)

    def ask(self, question: str) -> list[str]:
        """Search what the user said."""
        return self.answer(question).ids

    def answer(self, question: str, *, user: str | None = None, record: bool = False) -> Answer:
        """Search what a user said; below its threshold of .1 nothing is returned."""
        del record
        filters = {"user_id": user or USER}
        found = self._memory.search(question, filters=filters, top_k=TOP_K)["results"]
        return Answer(
            ids=[each["metadata"]["item"] for each in found],
            scores=[float(each["score"]) for each in found],
        )

    def revise(self, old: str, item: Item) -> None:
        """Update the text of a memory."""
        self._memory.update(self._keys[old], text=item.line, metadata={"item": item.id})
        self._keys[item.id] = self._keys.pop(old)

    def listed(self) -> list[str]:
        """Return the memories of all users."""
        return [
            each["metadata"]["item"]
            for user in self._users
            for each in self._memory.get_all(filters={"user_id": user}, top_k=EVERYTHING)["results"]
        ]
