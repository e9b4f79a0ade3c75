"""Connections to one SQLite file, pooled by the eventsourcing library and set up by us.

What the library leaves open or does otherwise:

* It never sets ``synchronous``, and caches one prepared statement per connection.
* It turns any SQLite file to WAL on connecting; a file of somebody else must stay as it is.
* It begins writes as reads, and leaves a transaction open whose COMMIT failed on a full disk.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, TypeAlias

from eventsourcing.sqlite import (
    SQLiteConnection,
    SQLiteConnectionPool,
    SQLiteCursor,
    SQLiteDatastore,
)

Synchronous: TypeAlias = Literal["full", "normal"]
Mode: TypeAlias = Literal["rwc", "ro", "ro&immutable=1"]

BUSY_TIMEOUT_S = 5
STATEMENTS_CACHED = 64

_PRAGMAS = {
    "secure_delete": "ON",  # what is overwritten or freed is zeroed
    "temp_store": "MEMORY",  # no copy of a payload in a temporary file
    "cell_size_check": "ON",  # notice a damaged page when it is loaded
}
_PRAGMAS_OF_READERS = {
    "writable_schema": "ON",  # nothing is written, but a file cut short opens up to the cut
}


class Pool(SQLiteConnectionPool):
    """Connections that are durable as asked and leave nothing readable behind."""

    def __init__(self, path: Path, *, mode: Mode, synchronous: Synchronous) -> None:
        super().__init__(
            db_name=f"{path.absolute().as_uri()}?mode={mode}", lock_timeout=BUSY_TIMEOUT_S
        )
        first = {} if mode == "rwc" else _PRAGMAS_OF_READERS
        self._pragmas = {**first, **_PRAGMAS, "synchronous": synchronous.upper()}

    def _create_connection(self) -> SQLiteConnection:
        connection = sqlite3.connect(
            self.db_name,
            uri=True,
            timeout=BUSY_TIMEOUT_S,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=STATEMENTS_CACHED,
        )
        try:
            for name, value in self._pragmas.items():
                connection.execute(f"PRAGMA {name} = {value}")
        except sqlite3.Error:
            connection.close()
            raise
        connection.row_factory = sqlite3.Row  # the library reads columns by name
        return SQLiteConnection(connection, max_age=None)


class Datastore(SQLiteDatastore):
    """The library's datastore over our pool, with transactions that always end."""

    def __init__(self, path: Path, *, mode: Mode, synchronous: Synchronous) -> None:
        super().__init__(str(path), originator_id_type="text")
        self.pool = Pool(path, mode=mode, synchronous=synchronous)

    @contextmanager
    def transaction(self, *, commit: bool) -> Generator[SQLiteCursor]:
        """Run a transaction; a writing one holds SQLite's write lock from its first statement."""
        with self.get_connection(commit=commit) as connection:
            cursor = connection.cursor()
            cursor.execute("BEGIN IMMEDIATE" if commit else "BEGIN")
            try:
                yield cursor
                if commit:
                    connection.commit()
            finally:
                connection.rollback()  # nothing is left to roll back after a commit

    @contextmanager
    def reading(self) -> Generator[sqlite3.Cursor]:
        """Lend a cursor for single statements, which need no transaction around them."""
        with self.get_connection(commit=False) as connection, connection.cursor() as cursor:
            cursor.row_factory = None  # plain tuples
            yield cursor
