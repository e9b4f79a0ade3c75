"""Accepting connections from a socket that several worker processes share.

asyncio accepts every pending connection at once, so the process that wakes first gets a whole burst
of clients and keeps them, because connections stay open. Here a process accepts one connection at a
time, and while it holds more than another process it leaves the next one to that process for a
moment. Nothing is lost when a process dies: a connection that it had not accepted waits in the
socket, which the other processes hold as well.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
from collections.abc import Callable

from attrs import define, field

from mnemic.adapters.http.processes.shared_counters import ABSENT
from mnemic.adapters.http.processes.worker_slots import WorkerSlot

LOG = logging.getLogger("mnemic.http")

DEFER_S = 0.003
"""How long a connection is left to less loaded processes, which the socket wakes as well."""
RETRY_S = 1.0
"""Pause before accepting again when no file descriptors were left, as in asyncio."""
EXHAUSTED = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})


@define(kw_only=True, eq=False)
class SharedListener:
    """Accepts connections for one worker process from the shared socket.

    Args:
        worker_slot: The slot of this process.
        protocol: Creates the protocol that serves a connection.
        held: Returns how many connections this process holds.
    """

    worker_slot: WorkerSlot
    protocol: Callable[[], asyncio.Protocol]
    held: Callable[[], int]
    _accepted: set[asyncio.Task[object]] = field(factory=set, init=False)
    """Connections that are accepted and not yet served."""
    _later: asyncio.TimerHandle | None = field(default=None, init=False)

    def open(self) -> None:
        """Begin to accept connections."""
        self.publish_load()
        self._watch()

    def publish_load(self) -> None:
        """Publish how many connections this process holds."""
        self.worker_slot.counters.publish_load(
            self.worker_slot.number, self.held() + len(self._accepted)
        )

    async def close(self) -> None:
        """Stop accepting, and wait until accepted connections are served; others take new ones.

        The server notifies the connections that are being served when it stops. A connection that
        arrived a moment later would miss the notice, and delay the end for as long as its client
        goes on sending requests.
        """
        self.worker_slot.counters.publish_load(self.worker_slot.number, ABSENT)
        if self._later is not None:
            self._later.cancel()
        asyncio.get_running_loop().remove_reader(self.worker_slot.listener)
        await asyncio.gather(*self._accepted, return_exceptions=True)

    def _watch(self) -> None:
        self._later = None
        asyncio.get_running_loop().add_reader(self.worker_slot.listener, self._accept_or_defer)

    def _accept_or_defer(self) -> None:
        """Accept a connection, or leave it to a process that holds fewer."""
        self.publish_load()
        if self.worker_slot.counters.excess_load(self.worker_slot.number) > 0:
            self._pause(DEFER_S, self._accept_and_watch)
        else:
            self._accept()

    def _accept_and_watch(self) -> None:
        """Accept what no other process has accepted in the meantime, since all are busy."""
        self._watch()
        self._accept()

    def _accept(self) -> None:
        try:
            connection, _ = self.worker_slot.listener.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return  # another process was faster, or the client has disconnected
        except OSError as error:
            if error.errno not in EXHAUSTED:
                raise
            LOG.error("no connection can be taken: %s", error)  # noqa: TRY400 - no bug of ours
            self._pause(RETRY_S, self._watch)
            return
        connection.settimeout(0)  # never waits
        serving = asyncio.ensure_future(self._serve(connection))
        self._accepted.add(serving)
        serving.add_done_callback(self._accepted.discard)
        self.publish_load()

    async def _serve(self, connection: socket.socket) -> None:
        try:
            loop = asyncio.get_running_loop()
            await loop.connect_accepted_socket(self.protocol, connection)
        except OSError as error:
            connection.close()
            LOG.debug("a connection was closed before it was served: %s", error)

    def _pause(self, seconds: float, then: Callable[[], None]) -> None:
        loop = asyncio.get_running_loop()
        loop.remove_reader(self.worker_slot.listener)
        if self._later is not None:
            self._later.cancel()
        self._later = loop.call_later(seconds, then)
