"""Connections to one SQLite file, pooled by the eventsourcing library and configured by us.

What the library leaves out or does differently:

* It never sets ``synchronous``, and caches one prepared statement per connection.
* It switches any SQLite file to WAL on connecting; another program's file must stay unchanged.
* It begins writes as reads, and leaves a transaction open whose COMMIT failed on a full disk.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Literal, TypeAlias

from eventsourcing.persistence import ConnectionPoolClosedError, ConnectionUnavailableError
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


class Forked(Exception):
    """The process was forked after the file was opened.

    SQLite's knowledge of its locks is wrong in a child, and what it writes there may corrupt the
    file. Source: sqlite.org/howtocorrupt.html, 2.7.
    """


class Pool(SQLiteConnectionPool):
    """Connections with the requested durability that leave no erased bytes readable.

    One writer at a time, and any number of readers. (The library's own pool passes each of them
    through a semaphore and two conditions, which is noticeable after every durable write.)
    """

    def __init__(self, path: Path, *, mode: Mode, synchronous: Synchronous) -> None:
        super().__init__(
            db_name=f"{path.absolute().as_uri()}?mode={mode}", lock_timeout=BUSY_TIMEOUT_S
        )
        self._process = os.getpid()
        first = {} if mode == "rwc" else _PRAGMAS_OF_READERS
        self._pragmas = {**first, **_PRAGMAS, "synchronous": synchronous.upper()}

    def get_connection(
        self, timeout: float | None = None, *, is_writer: bool | None = None
    ) -> SQLiteConnection:
        """Lend the connection that was returned last, or a new one."""
        if self._closed:
            raise ConnectionPoolClosedError
        if self._process != os.getpid():
            raise Forked
        if is_writer and not self._writer_lock.acquire(timeout=timeout or self.pool_timeout):
            raise ConnectionUnavailableError("another thread is writing")
        try:
            try:
                connection = self._pool.pop()
            except IndexError:
                connection = self._create_connection()
        except BaseException:
            if is_writer:
                self._writer_lock.release()
            raise
        connection.is_writer = is_writer
        return connection

    def put_connection(self, conn: SQLiteConnection) -> None:
        """Take a connection back."""
        is_writer = conn.is_writer
        self._pool.append(conn)
        if is_writer:
            self._writer_lock.release()
        if self._closed:  # while it was lent
            self._close_idle()

    def close(self) -> None:
        """Close all connections: idle ones now, others when they come back."""
        self._closed = True
        if self._process == os.getpid():
            self._close_idle()

    def _close_idle(self) -> None:
        with suppress(IndexError):
            while True:
                self._pool.pop().close()

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


class _Transaction(AbstractContextManager[SQLiteCursor]):
    """A transaction as a context manager; to be entered once."""

    def __init__(self, pool: SQLiteConnectionPool, *, writes: bool) -> None:
        self._pool = pool
        self._writes = writes

    def __enter__(self) -> SQLiteCursor:
        self._connection = self._pool.get_connection(is_writer=self._writes)
        try:
            self._cursor = self._connection.cursor()
            self._cursor.sqlite_cursor.execute("BEGIN IMMEDIATE" if self._writes else "BEGIN")
        except BaseException:
            self._end()
            raise
        return self._cursor

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if error is None:
                self._cursor.sqlite_cursor.execute("COMMIT" if self._writes else "ROLLBACK")
        finally:
            self._end()

    def _end(self) -> None:
        """Return the connection without an open statement or transaction."""
        try:
            self._cursor.sqlite_cursor.close()  # a query left half-way keeps its snapshot
        finally:
            try:
                self._connection.rollback()  # there is nothing to roll back unless something failed
            finally:
                self._pool.put_connection(self._connection)


class Datastore(SQLiteDatastore):
    """The library's datastore over our pool, with transactions that always end."""

    def __init__(self, path: Path, *, mode: Mode, synchronous: Synchronous) -> None:
        super().__init__(str(path), originator_id_type="text")
        self.path = path
        self.pool = Pool(path, mode=mode, synchronous=synchronous)

    # The library's is made by a generator, and two of those are noticeable in every durable write.
    def transaction(self, *, commit: bool) -> _Transaction:  # type: ignore[override]
        """Run a transaction; a writing one holds SQLite's write lock from its first statement."""
        return _Transaction(self.pool, writes=commit)

    @contextmanager
    def reading(self) -> Generator[sqlite3.Cursor]:
        """Lend a cursor for single statements, which need no transaction around them.

        Commits of others may become visible between two statements: see ``comparing``.
        """
        connection = self.pool.get_connection()
        try:
            with connection.cursor() as cursor:
                cursor.row_factory = None  # plain tuples
                yield cursor
        finally:
            self.pool.put_connection(connection)

    @contextmanager
    def comparing(self) -> Generator[sqlite3.Cursor]:
        """Lend a cursor whose statements all see the file as it is at the first of them."""
        with self.reading() as cursor:
            cursor.execute("BEGIN")
            try:
                yield cursor
            finally:
                cursor.connection.rollback()  # unless an error has ended it
