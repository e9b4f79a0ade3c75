"""Connections to one SQLite file, pooled by the eventsourcing library and configured by us.

What the library leaves out or does differently:

* It never sets ``synchronous``, and caches one prepared statement per connection.
* It switches any SQLite file to WAL on connecting; another program's file must stay unchanged.
* It begins writes as reads, and leaves a transaction open whose COMMIT failed on a full disk.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Literal, TypeAlias
from weakref import WeakSet

from eventsourcing.persistence import ConnectionPoolClosedError, ConnectionUnavailableError
from eventsourcing.sqlite import (
    SQLiteConnection,
    SQLiteConnectionPool,
    SQLiteCursor,
    SQLiteDatastore,
)

from mnemic.adapters.stores.logs.write_lock import PATIENCE_S
from mnemic.adapters.stores.sqlite import name_lock
from mnemic.adapters.system import forks

Synchronous: TypeAlias = Literal["full", "normal"]
Mode: TypeAlias = Literal["rw", "ro", "ro&immutable=1"]

BUSY_TIMEOUT_S = int(PATIENCE_S)
"""How long SQLite waits for another process, which has the file without the write lock."""
STATEMENTS_CACHED = 64

_PRAGMAS = {
    "secure_delete": "ON",  # what is overwritten or freed is zeroed
    "temp_store": "MEMORY",  # no copy of a payload in a temporary file
    "cell_size_check": "ON",  # notice a damaged page when it is loaded
}
_PRAGMAS_OF_READERS = {
    "writable_schema": "ON",  # nothing is written, but a file cut short opens up to the cut
}


FORK_PATIENCE_S, FORK_STEP_S = 5.0, 0.001
"""How long a fork waits for connections that are lent, and how often it looks."""

_abandoned: list[SQLiteConnection] = []
"""Connections of the parent that were lent to the thread that forked. They are never closed."""


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

    def __init__(
        self, path: Path, *, mode: Mode, synchronous: Synchronous, release: Callable[[], None]
    ) -> None:
        super().__init__(
            db_name=f"{path.absolute().as_uri()}?mode={mode}",
            lock_timeout=BUSY_TIMEOUT_S,
            pool_timeout=PATIENCE_S,
        )
        self._path = path
        self._process = os.getpid()
        self._at_end = [release]
        """What is called once, after the last connection is closed."""
        self._loans: list[None] = []
        """An entry for each connection that is lent, or about to be."""
        _pools.add(self)
        first = {} if mode == "rw" else _PRAGMAS_OF_READERS
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
            connection = self._lent()
        except BaseException:
            if is_writer:
                self._writer_lock.release()
            raise
        connection.is_writer = is_writer
        return connection

    def _lent(self) -> SQLiteConnection:
        self._loans.append(None)  # before the look at the event: a fork does it the other way
        while not _pools.may_borrow():
            self._loans.pop()
            _pools.is_lending.wait()
            self._loans.append(None)
        try:
            connection = self._taken()
        except BaseException:
            self._loans.pop()
            raise
        _pools.count(1)
        return connection

    def _taken(self) -> SQLiteConnection:
        if self._closed:  # while this waited
            raise ConnectionPoolClosedError
        try:
            return self._pool.pop()
        except IndexError:
            return self._create_connection()

    def put_connection(self, conn: SQLiteConnection) -> None:
        """Take a connection back."""
        if self._process != os.getpid():
            _abandoned.append(conn)
            return
        is_writer = conn.is_writer
        self._pool.append(conn)
        _pools.count(-1)
        self._loans.pop()
        if is_writer:
            self._writer_lock.release()
        if self._closed:  # while it was lent
            self.close_idle()

    def close(self) -> None:
        """Close all connections: idle ones now, others when they come back."""
        self._closed = True
        if self._process == os.getpid():
            self.close_idle()

    @property
    def is_in_use(self) -> bool:
        """Whether a connection is lent, or about to be."""
        return bool(self._loans)

    def give_up(self) -> None:
        """Keep this process, a child of the one that lent connections, from opening the file."""
        name_lock.forbid(self._path)

    def close_idle(self) -> None:
        """Close the connections that are not lent; the last of a closed pool ends its name."""
        with suppress(IndexError):
            while True:
                self._pool.pop().close()
        if self._closed and not self._loans:
            with suppress(IndexError):
                self._at_end.pop()()

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


class _Pools:
    """All pools of this process, which lend no connection during a fork.

    SQLite takes connections that a child inherits for its own, so there must be none.
    Source: sqlite.org/howtocorrupt.html, 2.7.
    """

    def __init__(self) -> None:
        self._pools = WeakSet[Pool]()
        self._borrowers = threading.local()
        self.is_lending = threading.Event()
        self.is_lending.set()
        forks.take_part(self)

    def add(self, pool: Pool) -> None:
        """Include a pool for as long as it is referenced."""
        self._pools.add(pool)

    def count(self, change: int) -> None:
        """Count a connection that the current thread borrows (1) or gives back (-1)."""
        self._borrowers.count = getattr(self._borrowers, "count", 0) + change

    def may_borrow(self) -> bool:
        """Return whether the current thread may borrow a connection now.

        During a fork only a thread that has one already may: it needs both to go on.
        """
        return self.is_lending.is_set() or getattr(self._borrowers, "count", 0) > 0

    def before_fork(self) -> None:
        """Wait for connections that are lent, and close all."""
        self.is_lending.clear()
        deadline = time.monotonic() + FORK_PATIENCE_S
        pools = list(self._pools)
        while any(pool.is_in_use for pool in pools) and time.monotonic() < deadline:
            time.sleep(FORK_STEP_S)
        for pool in pools:
            pool.close_idle()

    def after_fork(self, *, in_child: bool) -> None:
        """Lend connections again, in the child to what it opens itself."""
        if in_child:
            for pool in self._pools:
                if pool.is_in_use:
                    pool.give_up()
            self._pools.clear()
            self._borrowers = threading.local()
            self.is_lending = threading.Event()
        self.is_lending.set()


_pools = _Pools()


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


class _Reading(AbstractContextManager[sqlite3.Cursor]):
    """A lent cursor as a context manager; to be entered once. Each recall reads the head so."""

    def __init__(self, pool: SQLiteConnectionPool) -> None:
        self._pool = pool

    def __enter__(self) -> sqlite3.Cursor:
        self._connection = self._pool.get_connection()
        try:
            self._cursor = self._connection.cursor().sqlite_cursor
        except BaseException:
            self._pool.put_connection(self._connection)
            raise
        self._cursor.row_factory = None  # plain tuples
        return self._cursor

    def __exit__(self, *error: object) -> None:
        try:
            self._cursor.close()
        finally:
            self._pool.put_connection(self._connection)


class Datastore(SQLiteDatastore):
    """The library's datastore over our pool, with transactions that always end."""

    def __init__(self, path: Path, *, mode: Mode, synchronous: Synchronous) -> None:
        super().__init__(str(path), originator_id_type="text")
        self.path = path
        name = name_lock.hold(path)
        self.inode = name.inode
        """Device and inode of the file that was opened; None: there was none."""
        self.pool = Pool(path, mode=mode, synchronous=synchronous, release=name.release)

    # The library's is made by a generator, and two of those are noticeable in every durable write.
    def transaction(self, *, commit: bool) -> _Transaction:  # type: ignore[override]
        """Run a transaction; a writing one holds SQLite's write lock from its first statement."""
        return _Transaction(self.pool, writes=commit)

    def reading(self) -> AbstractContextManager[sqlite3.Cursor]:
        """Lend a cursor for single statements, which need no transaction around them.

        Commits of others may become visible between two statements: see ``comparing``.
        """
        return _Reading(self.pool)

    @contextmanager
    def comparing(self) -> Generator[sqlite3.Cursor]:
        """Lend a cursor whose statements all see the file as it is at the first of them."""
        with self.reading() as cursor:
            cursor.execute("BEGIN")
            try:
                yield cursor
            finally:
                cursor.connection.rollback()  # unless an error has ended it
