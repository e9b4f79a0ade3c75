"""Notifications of other writers' appends (LISTEN/NOTIFY), used as hints only.

One connection of a store listens, on a thread of its own, from the first subscription on. A
notification is only a reason to look at the log. Waiting readers also poll now and then, so that a
connection that was killed, fell silent, or was never established costs a moment; so does a writer
that was killed between its append and its notification. If nothing arrives on the connection for
long, the server is asked whether it is still there, and without an answer a new connection is made.
"""

from __future__ import annotations

import logging
import selectors
import socket
import threading
from collections import defaultdict
from collections.abc import Callable
from contextlib import closing, suppress

import psycopg
from psycopg.sql import SQL, Identifier

from mnemic.adapters.stores.postgres.connections import Datastore
from mnemic.adapters.stores.postgres.timeouts import PatientConnection

LOG = logging.getLogger("mnemic.stores")

LOOK_HEARING_S = 1.0
"""Poll interval of a waiting reader while the connection listens."""
LOOK_DEAF_S = 0.25
"""Poll interval while it does not."""
PAUSE_MIN_S = 0.1
PAUSE_MAX_S = 5.0
"""Delays between attempts to listen, increasing."""
JOIN_S = 5.0


class Notices:
    """Notifications of changes in one schema.

    Args:
        datastore: Makes the connection that listens.
        channel: The channel of the notifications.
    """

    def __init__(self, datastore: Datastore, channel: str) -> None:
        self._datastore = datastore
        self._listen = SQL("LISTEN {}").format(Identifier(channel)).as_bytes(None)
        self._news = threading.Condition()
        self._count: defaultdict[int, int] = defaultdict(int)
        """How often there may have been changes, by space."""
        self._recorded: defaultdict[int, list[Callable[[], None]]] = defaultdict(list)
        self._is_hearing = False
        self._is_closed = False
        self._thread: threading.Thread | None = None
        self._bell: socket.socket | None = None
        """A socket that is closed to wake the thread."""

    @property
    def is_hearing(self) -> bool:
        """Whether the connection is listening, as far as is known."""
        return self._is_hearing

    def count(self, space: int) -> int:
        """Return a counter that changes when *space* may have changed; starts listening."""
        with self._news:
            count = self._count[space]  # read before the thread reports that it is listening
            if self._thread is None and not self._is_closed:
                self._bell, ear = socket.socketpair()
                self._thread = threading.Thread(
                    target=self._run, args=(ear,), name="mnemic notices", daemon=True
                )
                self._thread.start()
            return count

    def rest(self, space: int, count: int, timeout_s: float) -> None:
        """Wait until the counter of *space* differs from *count*, or it is time to poll."""
        pause_s = LOOK_HEARING_S if self._is_hearing else LOOK_DEAF_S
        with self._news:
            self._news.wait_for(
                lambda: self._is_closed or self._count[space] != count,
                timeout=min(timeout_s, pause_s),
            )

    def hear(self, space: int, tell: Callable[[], None]) -> Callable[[], None]:
        """Call *tell*, on another thread, whenever *space* may have changed.

        Returns:
            A function that ends the subscription.
        """
        with self._news:
            self._recorded[space].append(tell)
        self.count(space)

        def end() -> None:
            with self._news, suppress(ValueError):
                self._recorded[space].remove(tell)

        return end

    def close(self) -> None:
        """Stop listening, and wake all waiting threads. Idempotent."""
        with self._news:
            if self._is_closed:
                return
            self._is_closed = True
            thread = self._thread
            if self._bell is not None:
                self._bell.close()
            self._news.notify_all()
        if thread is not None and thread is not threading.current_thread():
            thread.join(JOIN_S)

    # --- the thread -------------------------------------------------------------------------

    def _run(self, ear: socket.socket) -> None:
        pause_s = PAUSE_MIN_S
        with ear:
            while not self._is_closed:
                with (
                    suppress(psycopg.Error, OSError),
                    closing(self._datastore.connect()) as connection,
                ):
                    connection.execute(self._listen)
                    pause_s = PAUSE_MIN_S
                    self._is_hearing = True
                    self._ring(*list(self._count))  # there may have been changes before
                    self._hear(connection, ear)
                self._is_hearing = False
                _await(ear.fileno(), timeout_s=pause_s)
                pause_s = min(2 * pause_s, PAUSE_MAX_S)

    def _hear(self, connection: PatientConnection, ear: socket.socket) -> None:
        line = connection.pgconn
        while not self._is_closed:
            is_quiet = not _await(
                line.socket, ear.fileno(), timeout_s=self._datastore.address.answer_timeout_s
            )
            if self._is_closed:
                return
            if is_quiet:
                connection.execute(b"-- are you there?")
                self._ring(*list(self._count))  # some may have come with the answer
                continue
            line.consume_input()
            spaces: set[int] = set()
            while (notice := line.notifies()) is not None:
                number = notice.extra.partition(b" ")[0]
                if number.isdigit():
                    spaces.add(int(number))
            self._ring(*spaces)

    def _ring(self, *spaces: int) -> None:
        """Wake the threads that wait for changes of *spaces*."""
        with self._news:
            for space in spaces:
                self._count[space] += 1
            tells = [tell for space in spaces for tell in self._recorded[space]]
            self._news.notify_all()
        for tell in tells:
            try:
                tell()
            except Exception:  # an error of one subscriber must not affect the others
                LOG.exception("a subscriber to changes failed")


def _await(*descriptors: int, timeout_s: float) -> bool:
    """Wait until there is something to read; return whether there is, or the time is up."""
    # Not `select.select`: it takes no descriptor beyond 1,023, and a busy server has those.
    with selectors.DefaultSelector() as selector:
        for descriptor in descriptors:
            selector.register(descriptor, selectors.EVENT_READ)
        return bool(selector.select(timeout_s))
