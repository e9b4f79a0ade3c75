"""News of what others write: the server tells of it, and nobody relies on being told.

One connection of a store listens, on a thread of its own, from the moment that somebody first wants
to know. What it hears is never believed: it is a reason to look. Whoever waits looks besides, now
and then, so that a connection that was killed, or fell silent, or never came about, costs a moment;
and so does a writer that was killed between its append and the word of it. On a line on which
nothing was heard for long the server is asked whether it is still there, and if it does not say,
another is laid.
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
from mnemic.adapters.stores.postgres.patience import PatientConnection

LOG = logging.getLogger("mnemic.stores")

LOOK_HEARING_S = 1.0
"""Between two looks of somebody who waits while the server is listened to."""
LOOK_DEAF_S = 0.25
"""Between two while it is not."""
PAUSE_MIN_S = 0.1
PAUSE_MAX_S = 5.0
"""Between two attempts to listen: ever longer."""
JOIN_S = 5.0


class Notices:
    """What the server tells of one schema.

    Args:
        datastore: Makes the connection that listens.
        channel: Where the news come.
    """

    def __init__(self, datastore: Datastore, channel: str) -> None:
        self._datastore = datastore
        self._listen = SQL("LISTEN {}").format(Identifier(channel)).as_bytes(None)
        self._news = threading.Condition()
        self._count: defaultdict[int, int] = defaultdict(int)
        """How often there may have been news, by space."""
        self._told: defaultdict[int, list[Callable[[], None]]] = defaultdict(list)
        self._is_hearing = False
        self._is_closed = False
        self._thread: threading.Thread | None = None
        self._bell: socket.socket | None = None
        """Closed to wake the thread."""

    @property
    def is_hearing(self) -> bool:
        """Whether the server is listened to, as far as one knows."""
        return self._is_hearing

    def count(self, space: int) -> int:
        """Return a number that changes with the news of *space*. From now on there are some."""
        with self._news:
            count = self._count[space]  # known before the thread tells everybody that it hears
            if self._thread is None and not self._is_closed:
                self._bell, ear = socket.socketpair()
                self._thread = threading.Thread(
                    target=self._run, args=(ear,), name="mnemic notices", daemon=True
                )
                self._thread.start()
            return count

    def rest(self, space: int, count: int, timeout_s: float) -> None:
        """Wait until the number of *space* is another than *count*, or it is time to look."""
        pause_s = LOOK_HEARING_S if self._is_hearing else LOOK_DEAF_S
        with self._news:
            self._news.wait_for(
                lambda: self._is_closed or self._count[space] != count,
                timeout=min(timeout_s, pause_s),
            )

    def hear(self, space: int, tell: Callable[[], None]) -> Callable[[], None]:
        """Call *tell*, on another thread, whenever *space* may have news.

        Returns:
            What ends it.
        """
        with self._news:
            self._told[space].append(tell)
        self.count(space)

        def end() -> None:
            with self._news, suppress(ValueError):
                self._told[space].remove(tell)

        return end

    def close(self) -> None:
        """Hear no more, and wake whoever waits. Closing twice is fine."""
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
                    self._ring(*list(self._count))  # there may have been news before
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
                self._ring(*list(self._count))  # what came along with the answer is not to be had
                continue
            line.consume_input()
            spaces: set[int] = set()
            while (notice := line.notifies()) is not None:
                number = notice.extra.partition(b" ")[0]
                if number.isdigit():
                    spaces.add(int(number))
            self._ring(*spaces)

    def _ring(self, *spaces: int) -> None:
        """Wake those who wait for news of *spaces*."""
        with self._news:
            for space in spaces:
                self._count[space] += 1
            tells = [tell for space in spaces for tell in self._told[space]]
            self._news.notify_all()
        for tell in tells:
            try:
                tell()
            except Exception:  # theirs; all others still want to hear
                LOG.exception("somebody could not be told of news")


def _await(*descriptors: int, timeout_s: float) -> bool:
    """Wait until there is something to read, and say so; or until the time is up."""
    # Not `select.select`: it takes no descriptor beyond 1,023, and a busy server has those.
    with selectors.DefaultSelector() as selector:
        for descriptor in descriptors:
            selector.register(descriptor, selectors.EVENT_READ)
        return bool(selector.select(timeout_s))
