"""FIFO lock for the writers of one log in PostgreSQL.

It is an advisory lock of the database, named by schema and space, that a session holds. The server
hands it on in the order of requests, and releases it when its holder is killed or cut off. Like the
lock of a file it orders writers and nothing more: an append without it is as safe.

Taking it costs one round trip to the server, and releasing it another, which also notifies waiting
readers of what was written. A notification within the append's own transaction would be no more
reliable, and cost more: PostgreSQL lets only one transaction that notifies commit at a time, in the
whole server, its wait for the disk included. (Eight writers of eight spaces: 400 commits a second
so, 1,400 to 2,900 this way.)
"""

from __future__ import annotations

import logging
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress
from threading import Lock

import psycopg

from mnemic.adapters.stores.logs.write_lock import PATIENCE_S
from mnemic.adapters.stores.postgres.connections import (
    LOCK_TIMEOUT_S,
    Attempts,
    Datastore,
    Lost,
)
from mnemic.adapters.stores.postgres.timeouts import PatientConnection
from mnemic.kernel.errors import StoreBusy

LOG = logging.getLogger("mnemic.stores")

_TRY = b"SELECT pg_try_advisory_lock(%b)"
"""Fails also while another session waits for the lock."""
_LOCK = b"SELECT pg_advisory_lock(%b)"
_UNLOCK = b"SELECT pg_advisory_unlock(%b)"
_UNLOCK_AND_TELL = b"SELECT pg_advisory_unlock(%b), pg_notify(%b, %b)"
_TELL = b"SELECT pg_notify(%b, %b)"


class WriteLock:
    """One writer at a time, among the threads of this process and among all processes.

    Args:
        datastore: Whose connections hold the lock.
        key: The lock's number, unless another is given when it is taken.
        channel: Channel of the notifications of what was written.
    """

    def __init__(self, datastore: Datastore, *, key: int, channel: str) -> None:
        self._datastore = datastore
        self._key = self._held_key = key
        self._channel = channel
        self._threads = Lock()
        self._news: str | None = None
        self.is_taken = False
        """Whether a thread of this process holds the lock."""

    @contextmanager
    def write_lock(self, key: int | None = None) -> Generator[None]:
        """Hold the write lock. Not re-entrant.

        All other statements of this thread to the store go over the connection that holds it.

        Args:
            key: Number of the lock in the database; None: the usual one.

        Raises:
            StoreBusy: If another thread holds it for too long.
            Lost: If the server keeps hanging up.
            psycopg.Error: If the server refuses, or another session holds it for too long.
        """
        if not self._threads.acquire(timeout=PATIENCE_S):
            shown = self._datastore.address.shown
            raise StoreBusy(f"another thread has held {shown} for too long", path=shown)
        try:
            with ExitStack() as stack:
                self._held_key = self._key if key is None else key
                connection = self._asked(stack)
                with self._held(connection):
                    yield
        finally:
            self._threads.release()

    def tell(self, news: str) -> None:
        """Notify waiting readers of what was written, when the lock is released.

        They may not rely on it: what is written counts, whether this succeeds or not.
        """
        if self.is_taken:
            self._news = news
        else:
            with suppress(Lost, psycopg.Error):
                self._datastore.once(_TELL, (self._channel, news))

    def _asked(self, stack: ExitStack) -> PatientConnection:
        """Return a connection that holds the lock."""
        attempts = Attempts()
        while True:
            try:
                return self._asked_once(stack)
            except Lost as error:
                if attempts.are_over(error):
                    raise

    def _asked_once(self, stack: ExitStack) -> PatientConnection:
        connection = stack.enter_context(self._datastore.pinned())
        try:
            # Tried first: a server that hangs is no contention. A wait receives nothing; the server
            # itself ends one that takes too long.
            if self._datastore.once(_TRY, (self._held_key,)) != [(True,)]:
                self._datastore.once(_LOCK, (self._held_key,), more_s=LOCK_TIMEOUT_S)
        except BaseException:  # an interrupt may come at the moment at which it is ours
            connection.close()
            raise
        return connection

    @contextmanager
    def _held(self, connection: PatientConnection) -> Generator[None]:
        self.is_taken = True
        try:
            yield
        finally:
            self.is_taken = False
            self._give_back(connection)

    def _give_back(self, connection: PatientConnection) -> None:
        news, self._news = self._news, None
        if connection.closed:
            return  # the lock is released with the connection
        try:
            if news is None:
                rows = self._datastore.once(_UNLOCK, (self._held_key,))
            else:
                rows = self._datastore.once(_UNLOCK_AND_TELL, (self._held_key, self._channel, news))
            if not rows[0][0]:
                LOG.warning(
                    "%s: this session did not hold the write lock any more; a connection pooler "
                    "must pool sessions, not transactions",
                    self._datastore.address.shown,
                )
        except (Lost, psycopg.Error):
            connection.close()
        except BaseException:
            connection.close()
            raise
