"""LangGraph's long-term memory: its store on SQLite, with vectors."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import ClassVar

from peers.port import (
    TOP_K,
    Ability,
    Answer,
    Item,
    Peer,
    Vectors,
    module,
)

NAMESPACE = ("items",)
EVERYTHING = 1_000_000


class LangGraph(Peer):
    """One namespace, and one below it for each user; the field with the text is indexed."""

    abilities: ClassVar[frozenset[Ability]] = frozenset({Ability.LISTING, Ability.USERS})
    name: ClassVar[str] = "LangGraph store (SQLite)"
    requirements: ClassVar[tuple[str, ...]] = (
        "langgraph-checkpoint-sqlite==3.1.2",
        "langgraph",
        "pysqlite3-binary; sys_platform == 'linux'",
    )
    search: ClassVar[str] = "vectors"
    durability: ClassVar[str] = "power loss"
    note: ClassVar[str] = (
        "as `from_conn_string` opens it: a rollback journal, flushed four times for each `put`; "
        "one batch for each conversation in bulk"
    )

    def __init__(self, folder: Path, vectors: Vectors) -> None:
        """Make the tables."""
        super().__init__(folder, vectors)
        # The fields to index are given at every put: this release ignores "fields" here.
        index = {"dims": vectors.dimension, "embed": vectors.lists}
        self._stack = ExitStack()
        if not hasattr(sqlite3.Connection, "enable_load_extension"):
            sys.modules["sqlite3"] = module("pysqlite3")  # this Python was built without
        store = module("langgraph.store.sqlite").SqliteStore
        path = str(folder / "store.db")
        self._store = self._stack.enter_context(store.from_conn_string(path, index=index))
        self._store.setup()

    def write(self, item: Item) -> None:
        """Put one value."""
        self._store.put(_namespace(item.user), item.id, {"text": item.line}, index=["text"])

    def write_many(self, items: Sequence[Item]) -> None:
        """Put all values as one batch."""
        put = module("langgraph.store.base").PutOp
        self._store.batch(
            [
                put(_namespace(item.user), item.id, {"text": item.line}, index=["text"])
                for item in items
            ]
        )

    def ask(self, question: str) -> list[str]:
        """Search the namespace."""
        return self.answer(question).ids

    def answer(self, question: str, *, user: str | None = None, record: bool = False) -> Answer:
        """Search the namespace of a user; scores are cosines."""
        del record
        found = self._store.search(_namespace(user), query=question, limit=TOP_K)
        return Answer(ids=[item.key for item in found], scores=[item.score for item in found])

    def revise(self, old: str, item: Item) -> None:
        """Put another value under another key, and delete the old one."""
        self._store.delete(_namespace(item.user), old)
        self.write(item)

    def listed(self) -> list[str]:
        """Return the keys below the namespace."""
        return [item.key for item in self._store.search(NAMESPACE, limit=EVERYTHING)]

    def close(self) -> None:
        """Close the file."""
        self._stack.close()


def _namespace(user: str | None) -> tuple[str, ...]:
    return NAMESPACE if user is None else (*NAMESPACE, user)
