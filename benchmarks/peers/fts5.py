"""SQLite's full-text search: the baseline for search by words."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import ClassVar

from peers.port import (
    TOP_K,
    Ability,
    Answer,
    Item,
    Peer,
    Vectors,
)

WORD = re.compile(r"\w+")
SEARCH = (
    "SELECT id, bm25(items) FROM items WHERE items MATCH ? "  # noqa: S608 - a number
    f"ORDER BY bm25(items) LIMIT {TOP_K}"
)
CREATE = "CREATE VIRTUAL TABLE items USING fts5(id UNINDEXED, text, tokenize='porter unicode61')"
INSERT = "INSERT INTO items VALUES (?, ?)"


def any_of(words: Iterable[str]) -> str:
    """Return the expression for rows with any of *words*; no words find nothing."""
    return " OR ".join(f'"{word}"' for word in words) or '""'


class FullText(Peer):
    """One table, any word of the question, BM25 order."""

    abilities: ClassVar[frozenset[Ability]] = frozenset({Ability.LISTING})
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
        self._connection.execute(CREATE)

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
        """Find rows with any word of the question."""
        return self.answer(question).ids

    def answer(self, question: str, *, user: str | None = None, record: bool = False) -> Answer:
        """Find rows with any word of the question; SQLite's scores are negative."""
        del user, record
        rows = self._connection.execute(SEARCH, (any_of(WORD.findall(question)),)).fetchall()
        return Answer(ids=[row[0] for row in rows], scores=[-row[1] for row in rows])

    def listed(self) -> list[str]:
        """Return all rows."""
        return [row[0] for row in self._connection.execute("SELECT id FROM items")]

    def close(self) -> None:
        """Close the file."""
        self._connection.close()
