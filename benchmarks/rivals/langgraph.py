"""LangGraph's long-term memory: its store on SQLite, with vectors."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import ClassVar

from rivals.port import TOP_K, Item, Peer, Vectors, module

NAMESPACE = ("items",)


class LangGraph(Peer):
    """One namespace; the field with the text is indexed."""

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
        # What to index is said at every put: this release does not hear "fields" said here.
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
        self._store.put(NAMESPACE, item.id, {"text": item.line}, index=["text"])

    def write_many(self, items: Sequence[Item]) -> None:
        """Put all values as one batch."""
        put = module("langgraph.store.base").PutOp
        self._store.batch(
            [put(NAMESPACE, item.id, {"text": item.line}, index=["text"]) for item in items]
        )

    def ask(self, question: str) -> list[str]:
        """Search the namespace."""
        found = self._store.search(NAMESPACE, query=question, limit=TOP_K)
        return [item.key for item in found]

    def close(self) -> None:
        """Close the file."""
        self._stack.close()
