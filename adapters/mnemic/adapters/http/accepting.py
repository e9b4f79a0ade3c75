"""How one of several processes takes connections off a socket that all of them share.

asyncio takes all that wait at once, so of a burst of clients whoever wakes first gets every one,
and keeps them, for connections stay open. Here a process takes one at a time, and while it holds
more than another it leaves the next one to that other for a moment. Nothing is lost where a process
dies: what it had not taken waits in the socket, which the others hold as well.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
from collections.abc import Callable

from attrs import define, field

from mnemic.adapters.http.board import ABSENT
from mnemic.adapters.http.posts import Post

LOG = logging.getLogger("mnemic.http")

STEP_ASIDE_S = 0.003
"""How long a connection is left to others who hold less. They are woken by it, too."""
BREATH_S = 1.0
"""Until it is tried again where there were no descriptors left, as in asyncio."""
EXHAUSTED = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})


@define(kw_only=True, eq=False)
class Entrance:
    """Where connections come in.

    Args:
        post: Of this process.
        protocol: Makes what serves a connection.
        held: Tells how many connections this process holds.
    """

    post: Post
    protocol: Callable[[], asyncio.Protocol]
    held: Callable[[], int]
    _coming: set[asyncio.Task[object]] = field(factory=set, init=False)
    """Connections that are taken, and not yet served."""
    _later: asyncio.TimerHandle | None = field(default=None, init=False)

    def open(self) -> None:
        """Begin to take connections."""
        self.tell()
        self._watch()

    def tell(self) -> None:
        """Let the others know how many connections this process holds."""
        self.post.board.tell(self.post.number, self.held() + len(self._coming))

    async def close(self) -> None:
        """Take no more, and wait until what was taken is served; the others do not wait for it to.

        Whoever stops tells all connections that are served just then. One that came in a moment
        later would hear nothing, and hold up the end for as long as it goes on asking.
        """
        self.post.board.tell(self.post.number, ABSENT)
        if self._later is not None:
            self._later.cancel()
        asyncio.get_running_loop().remove_reader(self.post.listener)
        await asyncio.gather(*self._coming, return_exceptions=True)

    def _watch(self) -> None:
        self._later = None
        asyncio.get_running_loop().add_reader(self.post.listener, self._knocked)

    def _knocked(self) -> None:
        """Take a connection, or leave it to somebody who holds less."""
        self.tell()
        if self.post.board.lead(self.post.number) > 0:
            self._rest(STEP_ASIDE_S, self._take_and_watch)
        else:
            self._take()

    def _take_and_watch(self) -> None:
        """Take what nobody else has taken meanwhile: they are busy."""
        self._watch()
        self._take()

    def _take(self) -> None:
        try:
            connection, _ = self.post.listener.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return  # somebody else was faster, or whoever came has gone
        except OSError as error:
            if error.errno not in EXHAUSTED:
                raise
            LOG.error("no connection can be taken: %s", error)  # noqa: TRY400 - no bug of ours
            self._rest(BREATH_S, self._watch)
            return
        connection.settimeout(0)  # never waits
        coming = asyncio.ensure_future(self._let_in(connection))
        self._coming.add(coming)
        coming.add_done_callback(self._coming.discard)
        self.tell()

    async def _let_in(self, connection: socket.socket) -> None:
        try:
            loop = asyncio.get_running_loop()
            await loop.connect_accepted_socket(self.protocol, connection)
        except OSError as error:
            connection.close()
            LOG.debug("a connection was gone before it was served: %s", error)

    def _rest(self, seconds: float, then: Callable[[], None]) -> None:
        loop = asyncio.get_running_loop()
        loop.remove_reader(self.post.listener)
        if self._later is not None:
            self._later.cancel()
        self._later = loop.call_later(seconds, then)
