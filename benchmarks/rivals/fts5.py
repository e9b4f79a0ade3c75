"""SQLite's full-text search: the floor that anything with words is compared to."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from rivals.port import TOP_K, Item, Peer, Vectors

WORD = re.compile(r"\w+")
SEARCH = f"SELECT id FROM items WHERE items MATCH ? ORDER BY bm25(items) LIMIT {TOP_K}"  # noqa: S608 - a number
INSERT = "INSERT INTO items VALUES (?, ?)"


class FullText(Peer):
    """One table, any word of the question, BM25 order."""

    name: ClassVar[str] = "SQLite FTS5"
    search: ClassVar[str] = "words"
    durability: ClassVar[str] = "power loss"
    note: ClassVar[str] = (
        "any word of the question, `ORDER BY bm25()`, which was quicker here than `rank`; "
        "`porter` stems, write-ahead log, `synchronous=FULL`"
    )

    def __init__(self, folder: Path, vectors: Vectors) -> None:
        """Make the table, with a write-ahead log that is flushed at every commit."""
        super().__init__(folder, vectors)
        self._connection = sqlite3.connect(folder / "fts5.db", isolation_level=None)
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = FULL")
        self._connection.execute(
            "CREATE VIRTUAL TABLE items USING fts5(id UNINDEXED, text, tokenize='porter unicode61')"
        )

    @classmethod
    def release(cls) -> str:
        """Return the version of SQLite."""
        return sqlite3.sqlite_version

    def write(self, item: Item) -> None:
        """Insert and commit."""
        self._connection.execute(INSERT, (item.id, item.line))

    def write_many(self, items: Sequence[Item]) -> None:
        """Insert all and commit once."""
        self._connection.execute("BEGIN")
        self._connection.executemany(INSERT, [(item.id, item.line) for item in items])
        self._connection.execute("COMMIT")

    def ask(self, question: str) -> list[str]:
        """Find what has any word of the question."""
        wanted = " OR ".join(f'"{word}"' for word in WORD.findall(question))
        return [row[0] for row in self._connection.execute(SEARCH, (wanted,))]

    def close(self) -> None:
        """Close the file."""
        self._connection.close()
