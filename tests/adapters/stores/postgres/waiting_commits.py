"""A server whose commits wait for a replica, and waits that are ended before it has answered."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager

import psycopg

WAITING = "SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep' ORDER BY pid"
COMMIT = b"SELECT pg_logical_emit_message(true, 'probe', '')"
ANSWER_S = 0.4
POLL_S = 0.01
SETTLED_S = 20.0


class Primary:
    """A server that can be made to wait for a replica that never answers.

    Attributes:
        address: Of a store on it, with a short limit on silence.
    """

    def __init__(self, server: str, address: str) -> None:
        self.address = f"{address}&answer_timeout={ANSWER_S}"
        self._server = server
        self._admin = psycopg.connect(server, autocommit=True)

    def close(self) -> None:
        """Let waiting commits go on."""
        self.wait_for_no_replica()
        self._admin.close()

    def wait_for_a_replica(self) -> None:
        """Let every commit from now on wait for a replica that does not exist."""
        self._set("absent", waits=True)

    def wait_for_no_replica(self) -> None:
        """Let every commit go on, those that wait included."""
        self._set("", waits=False)

    def waiting(self) -> list[int]:
        """Return the process ids of sessions that wait for a replica."""
        return [pid for (pid,) in self._admin.execute(WAITING).fetchall()]

    @contextmanager
    def ending_waits(
        self, function: str, *, then: Callable[[], None] = lambda: None
    ) -> Generator[list[int]]:
        """Call a *function* of the server with every session that waits for a replica.

        Args:
            function: ``pg_cancel_backend`` or ``pg_terminate_backend``.
            then: Called once, after the first.

        Yields:
            The process ids of these sessions.
        """
        ended: list[int] = []
        is_over = threading.Event()

        def run() -> None:
            while not is_over.wait(POLL_S):
                for pid in self.waiting():
                    self._admin.execute(f"SELECT {function}({pid})".encode())
                    ended.append(pid)
                    if len(ended) == 1:
                        then()

        thread = threading.Thread(target=run)
        thread.start()
        try:
            yield ended
        finally:
            is_over.set()
            thread.join()

    def _set(self, names: str, *, waits: bool) -> None:
        self._admin.execute(f"ALTER SYSTEM SET synchronous_standby_names = '{names}'".encode())
        self._admin.execute("SELECT pg_reload_conf()")
        until(lambda: self._commit_waits() == waits)  # processes of the server reload one by one

    def _commit_waits(self) -> bool:
        with closing(psycopg.connect(self._server, autocommit=True)) as session:
            line = session.pgconn
            line.send_query(COMMIT)
            while line.is_busy():
                if line.backend_pid in self.waiting():
                    return True
                line.consume_input()
                time.sleep(POLL_S)
            line.get_result()
        return False


def until(is_so: Callable[[], bool]) -> None:
    """Wait until *is_so* returns True."""
    deadline = time.monotonic() + SETTLED_S
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(POLL_S)
