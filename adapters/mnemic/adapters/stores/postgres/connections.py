"""Connections to one PostgreSQL database, lent to one thread at a time.

The eventsourcing library brings a pool that connects on threads of its own. With it, a wrong
password shows up as a time-out, and a statement that failed half-way is silently retried ten times.
So:

1. The thread that needs a connection makes it, and gets its errors.
2. Each statement is its own transaction. Nothing is held between two of them.
3. When the server hangs up, every idle connection counts as lost. A read is repeated on a new one.
   A write is not: whether it was carried out has to be found out, see ``recorder``.
4. A server that is silent for too long counts as having hung up, see ``timeouts``.
5. A commit that may not have reached the replicas counts as unanswered, see ``replication``.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from math import ceil
from typing import Any, Literal, TypeAlias

import psycopg
from eventsourcing.persistence import ConnectionPoolClosedError
from eventsourcing.postgres import PostgresDatastore
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import TransactionStatus
from psycopg.rows import dict_row, tuple_row

from mnemic.adapters.stores.addresses import ServerAddress
from mnemic.adapters.stores.postgres.replication import BARRIER
from mnemic.adapters.stores.postgres.timeouts import PatientConnection, Silent

Synchronous: TypeAlias = Literal["full", "normal"]
Row: TypeAlias = tuple[Any, ...]

_UNLESS_SAID: dict[str, Any] = {
    "fallback_application_name": "mnemic",
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 60_000,
}
"""Options of libpq that an address may override. With them, a server that vanished without closing
the connection is noticed within a minute."""
CONNECT_TIMEOUT_S = 10.0
"""How long one of the hosts of an address may take to accept a connection, unless the address says
so, or an answer may take less. libpq waits two seconds at least."""
RECONNECT_S = 10.0
"""Default time for a server that hung up to come back: it may be restarting."""
RECONNECT_STEP_S = 0.1
LOCK_TIMEOUT_S = 30
"""How long a statement waits for another writer. As ``logs.write_lock.PATIENCE_S``."""
ATTEMPTS = 4
"""How many times a statement is sent before a server that keeps hanging up is given up."""
THROUGHOUT_S = 600.0
"""Additional silence allowed for a statement that goes through everything of a space."""
IDLE_MAX = 8
"""Idle connections that are kept open."""

_SESSION = """
SET default_transaction_isolation = 'read committed';
SET tcp_keepalives_idle = 30;
SET tcp_keepalives_interval = 10;
SET tcp_keepalives_count = 3;
SET client_min_messages = warning;
SET jit = off"""
"""Set in every session. The server notices within a minute that a holder of a lock is cut off, and
warns of commits that may not have reached its replicas."""
_DURABLE = """
SELECT set_config('synchronous_commit', 'on', false)
    WHERE current_setting('synchronous_commit') = 'off'"""
"""Any other setting is deliberate: to wait for replicas too, or for this server's disk alone."""
_SESSION_OF = {"full": _DURABLE, "normal": "SET synchronous_commit = off"}
_SESSION_OF_READERS = "SET default_transaction_read_only = on"


class Lost(Exception):
    """The server hung up in the middle of a statement, which was carried out or was not."""

    @property
    def is_silence(self) -> bool:
        """Whether the server was silent for too long, rather than hung up."""
        return isinstance(self.__cause__, Silent)


class Unreplicated(Lost):
    """A statement was carried out, and may not have reached the replicas that it waited for."""

    def __init__(self) -> None:
        super().__init__("a wait for its replicas was ended before they had answered")


class Forked(Exception):
    """The process was forked after the store was opened."""


class Attempts:
    """How many times a statement may still be sent to a server that did not answer."""

    def __init__(self) -> None:
        self._left = ATTEMPTS

    def are_over(self, lost: Lost) -> bool:
        """Return whether the last attempt has failed; after a silence there is one more."""
        self._left = min(self._left - 1, 1) if lost.is_silence else self._left - 1
        return self._left <= 0


class Datastore(PostgresDatastore):
    """The library's datastore over connections of our own.

    Args:
        address: Address of the server.
        synchronous: ``full``: a commit waits for the disk. ``normal``: it may be lost with the
            server, but not with this process.
        read_only: Let the server refuse to write.
        reconnect_s: How long a server that hung up may take to come back.
        lock_timeout_s: How long a statement waits for another one. Range: > 0.
    """

    def __init__(
        self,
        address: ServerAddress,
        *,
        synchronous: Synchronous = "full",
        read_only: bool = False,
        reconnect_s: float = RECONNECT_S,
        lock_timeout_s: float = LOCK_TIMEOUT_S,
    ) -> None:
        # The library's destructor closes the pool, also after a constructor that failed.
        self._process = os.getpid()
        self._is_closed = False
        self._idle: list[tuple[int, PatientConnection]] = []
        super().__init__(
            "", "", "", "", "", schema=address.schema, originator_id_type="text"
        )  # its pool is never opened
        self.address = address
        last = _SESSION_OF_READERS if read_only else _SESSION_OF[synchronous]
        said = conninfo_to_dict(address.conninfo)
        timeout_s = ceil(min(CONNECT_TIMEOUT_S, address.answer_timeout_s))
        usual = _UNLESS_SAID | {"connect_timeout": timeout_s}
        self._conninfo = make_conninfo(
            address.conninfo, **{each: usual[each] for each in usual.keys() - said}
        )
        self._session = f"{_SESSION};\n{last};\nSET lock_timeout = '{lock_timeout_s * 1000:.0f}'"
        self._generation = 0
        self._given_up = 0
        self._patient_until = 0.0
        self._reconnect_s = reconnect_s
        self._pins = threading.local()

    def register_type_adapters(self) -> None:
        """Do nothing: no composite type of the library is used."""

    # --- lending ----------------------------------------------------------------------------

    @contextmanager
    def lent(self) -> Generator[PatientConnection]:
        """Lend a connection for a ``with`` block: the pinned one of this thread, or any.

        Raises:
            Lost: The server hung up meanwhile.
            ConnectionPoolClosedError: The store is closed.
            psycopg.Error: It cannot be reached, or refuses.
        """
        pinned: PatientConnection | None = getattr(self._pins, "connection", None)
        if pinned is not None and not pinned.closed:
            with self._watched(pinned):
                yield pinned
            return
        generation, connection = self._taken()
        try:
            with self._watched(connection):
                yield connection
        finally:
            self._give_back(generation, connection)

    @contextmanager
    def pinned(self) -> Generator[PatientConnection]:
        """Lend a connection that this thread uses for everything until the block ends."""
        before = getattr(self._pins, "connection", None)
        generation, connection = self._taken()
        self._pins.connection = connection
        try:
            yield connection
        finally:
            self._pins.connection = before
            self._give_back(generation, connection)

    @contextmanager
    def _watched(self, connection: PatientConnection) -> Generator[None]:
        connection.is_unreplicated = False  # what was interrupted before was never acknowledged
        try:
            yield
            if connection.is_unreplicated:
                raise Unreplicated
        except psycopg.Error as error:
            if not connection.closed:
                raise
            if not connection.given_up():  # otherwise there is no reason to wait for the server
                self._forget()
            raise Lost(self.address.censored(error)) from error

    @contextmanager
    def get_connection(self) -> Generator[PatientConnection]:
        """Lend a connection to a method of the library."""
        with self.lent() as connection:
            yield connection

    def rows(
        self, statement: bytes, values: Sequence[object] = (), *, more_s: float = 0.0
    ) -> list[Row]:
        """Return the rows of a read-only statement; repeat it when the server hangs up.

        Args:
            statement: The statement.
            values: Its values.
            more_s: Seconds that the server may be silent beyond the usual time-out.

        Raises:
            Lost: The server hung up each time.
            psycopg.Error: It refuses.
        """
        attempts = Attempts()
        while True:
            try:
                return self.once(statement, values, more_s=more_s)
            except Lost as error:
                if attempts.are_over(error):
                    raise

    def written(
        self, statement: bytes, values: Sequence[object] = (), *, more_s: float = 0.0
    ) -> list[Row]:
        """Return the rows of a statement that writes, and may be sent again after a lost answer.

        Args and Raises: As ``rows``; ``Lost`` also if it may not have reached the replicas.
        """
        attempts, is_in_doubt = Attempts(), False
        while True:
            try:
                found = self.once(statement, values, more_s=more_s)
            except Lost as error:
                if attempts.are_over(error):
                    raise
                is_in_doubt = True
            else:
                if is_in_doubt:
                    self.confirm()
                return found

    def confirm(self) -> None:
        """Return once everything committed before is where this server keeps what it acknowledges.

        Raises:
            Lost: That cannot be found out within the time for an answer.
            psycopg.Error: The server cannot be reached, or refuses.
        """
        attempts = Attempts()
        deadline = time.monotonic() + self.address.answer_timeout_s
        while True:
            try:
                self.once(BARRIER)
            except Unreplicated:
                if time.monotonic() >= deadline:
                    raise
            except Lost as error:
                if attempts.are_over(error):
                    raise
            else:
                return

    def once(
        self, statement: bytes, values: Sequence[object] = (), *, more_s: float = 0.0
    ) -> list[Row]:
        """Return the rows of a statement that is sent once; see ``rows``.

        Raises:
            Lost: The server hung up; the statement was carried out, or was not.
            psycopg.Error: It refuses.
        """
        with self.lent() as connection, connection.patient(more_s):
            return asked(connection, statement, values)

    # --- idle connections -------------------------------------------------------------------

    def _taken(self) -> tuple[int, PatientConnection]:
        if self._is_closed:
            raise ConnectionPoolClosedError
        if self._process != os.getpid():
            raise Forked
        with suppress(IndexError):
            return self._idle.pop()
        generation = self._generation
        return generation, self._connect()

    def _give_back(self, generation: int, connection: PatientConnection) -> None:
        is_ready = connection.pgconn.transaction_status == TransactionStatus.IDLE
        is_wanted = generation == self._generation and len(self._idle) < IDLE_MAX
        if is_ready and is_wanted and not self._is_closed:
            self._idle.append((generation, connection))
        else:
            connection.close()
        if self._is_closed:  # meanwhile
            self._close_idle()

    def _forget(self) -> None:
        """Discard all connections made before now."""
        self._generation += 1
        self._patient_until = time.monotonic() + self._reconnect_s
        self._close_idle()

    def give_up(self) -> None:
        """End all waits for answers, because the network to the server counts as cut."""
        self._given_up += 1
        self._forget()
        self._patient_until = 0.0

    def _close_idle(self) -> None:
        with suppress(IndexError):
            while True:
                self._idle.pop()[1].close()

    def _connect(self) -> PatientConnection:
        """Return a new connection; wait for a server that was reachable a moment ago."""
        while True:
            try:
                return self.connect()
            except psycopg.OperationalError:
                if time.monotonic() > self._patient_until:
                    raise
                time.sleep(RECONNECT_STEP_S)

    def connect(self) -> PatientConnection:
        """Return a connection that the caller keeps and closes."""
        try:
            connection = PatientConnection.connect(
                self._conninfo,
                autocommit=True,
                row_factory=dict_row,  # the library reads columns by name
                client_encoding="UTF8",
            )
        except psycopg.Error as error:
            # The driver's own frames keep the connection alive: a session of a server that hangs.
            raise error.with_traceback(None) from None
        connection.patience_s = self.address.answer_timeout_s
        before = self._given_up
        connection.given_up = lambda: self._given_up > before
        connection.add_notice_handler(connection.look_at)
        try:
            connection.execute(self._session.encode())
        except BaseException:
            connection.close()
            raise
        return connection

    def close(self) -> None:
        """Close all connections: idle ones now, others when they come back."""
        self._is_closed = True
        if self._process == os.getpid():  # otherwise they belong to the parent process
            self._close_idle()

    @property
    def generation(self) -> int:
        """How often the server hung up; after that it may be another one."""
        return self._generation

    @property
    def is_closed(self) -> bool:
        """Whether nothing is lent any more."""
        return self._is_closed


def asked(
    connection: PatientConnection, statement: bytes, values: Sequence[object] = ()
) -> list[Row]:
    """Return the rows of *statement* as tuples; it is prepared for the next time."""
    with connection.cursor(binary=True, row_factory=tuple_row) as cursor:
        cursor.execute(statement, values, prepare=True)
        return cursor.fetchall()
