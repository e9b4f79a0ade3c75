"""Watches: the known version of each log that clients follow, and the clients that wait for more.

A write of this process is reported at once. Writes of other processes are found by polling the head
of the log, often at first and then less often, with one poll for all followers of a space. A log
that sends notifications is polled when one arrives, and still from time to time, because
notifications can be lost.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TypeVar

from anyio import CapacityLimiter, to_thread
from attrs import define, field

from mnemic.adapters.inprocess.operations.answer_version import Hear
from mnemic.adapters.remote.shares import Client, Shares
from mnemic.adapters.remote.transport_errors import Overloaded, Stopping

T = TypeVar("T")

LOG = logging.getLogger("mnemic.http")

POLL_MIN_S = 0.02
POLL_MAX_S = 0.25
"""How long a write of another process may stay unnoticed."""
POLL_NOTIFIED_MAX_S = 1.0
"""The same if the log sends notifications, and one was lost."""
THREADS = 4
"""Threads for all followers of logs; operations do not use them."""


@define(kw_only=True, eq=False)
class Watch:
    """The known version of the log of one space, and its followers."""

    head: Callable[[], int]
    """Reads the version of the log's head. Runs on a thread."""
    subscribe: Hear | None = None
    """Subscribes to notifications that the log may have moved on; None: it sends none."""
    version: int = -1
    is_lost: bool = False
    """Whether the head could not be read the last time; the space may be in another database."""
    followers: int = 0
    _changed: asyncio.Event = field(factory=asyncio.Event)
    _polling: asyncio.Task[None] | None = None
    _notified: asyncio.Event = field(factory=asyncio.Event)
    """Set when a notification arrived."""
    _unsubscribe: Callable[[], None] | None = None
    """Cancels the subscription."""

    def advance(self, version: int) -> None:
        """Record that the log has reached *version*."""
        if version > self.version:
            self.version = version
            self.wake_all()

    def wake_all(self) -> None:
        """Wake all followers."""
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    async def wait(self, version: int, timeout_s: float) -> None:
        """Wait until the log is known to be beyond *version*, or followers are woken, or a timeout.

        Args:
            version: How far the follower has read.
            timeout_s: At most.
        """
        if self.version <= version:
            try:
                async with asyncio.timeout(timeout_s):
                    await self._changed.wait()
            except TimeoutError:
                return

    def begin(self, threads: CapacityLimiter, stopping: asyncio.Event) -> None:
        """Begin to poll, and subscribe."""
        if self.subscribe is not None:
            self._unsubscribe = self.subscribe(
                partial(_set_from_thread, asyncio.get_running_loop(), self._notified)
            )
        self._polling = asyncio.create_task(self._poll(threads, stopping))

    def end(self) -> None:
        """Stop polling, and unsubscribe."""
        if self._unsubscribe is not None:
            self._unsubscribe()
        if self._polling is not None:
            self._polling.cancel()

    async def _poll(self, threads: CapacityLimiter, stopping: asyncio.Event) -> None:
        pause_s = POLL_MIN_S
        most_s = POLL_MAX_S if self.subscribe is None else POLL_NOTIFIED_MAX_S
        while not stopping.is_set():
            await self._pause(pause_s, stopping)
            known = self.version
            try:
                self._found(await to_thread.run_sync(self.head, limiter=threads))
                self.is_lost = False
            except Exception:
                # Followers will meet the error as well, and can report it.
                self.is_lost = True
                LOG.debug("the head of a log cannot be read", exc_info=True)
                self.wake_all()
            moved = self.version > known
            pause_s = POLL_MIN_S if moved else min(2 * pause_s, most_s)
        self.wake_all()

    def _found(self, version: int) -> None:
        """Record the version of the log's head as it was just read.

        It is lower than before if the log is another one, or if a write was reported meanwhile;
        that write is found by the next poll.
        """
        if version < self.version:
            self.version = version
            self.wake_all()
        self.advance(version)

    async def _pause(self, pause_s: float, stopping: asyncio.Event) -> None:
        """Wait for a time, or until a notification arrives, or until soon after a shutdown."""
        end = time.monotonic() + pause_s
        while not (stopping.is_set() or self._notified.is_set()) and time.monotonic() < end:
            with suppress(TimeoutError):
                async with asyncio.timeout(min(pause_s, POLL_MAX_S)):
                    await self._notified.wait()
        self._notified.clear()


class Watches:
    """All watches of a server, and the number of followers.

    Args:
        followers_max: Maximum number of followers, over all spaces.
        stopping: Set when the server is shutting down.
    """

    def __init__(self, followers_max: int, stopping: asyncio.Event) -> None:
        self._followers_max = followers_max
        self._shares = Shares(total=followers_max, what="streams")
        self._stopping = stopping
        self._watches: dict[str, Watch] = {}
        self._threads = CapacityLimiter(THREADS)

    @property
    def is_stopping(self) -> bool:
        """Whether the server is shutting down."""
        return self._stopping.is_set()

    @property
    def followers(self) -> int:
        """The current number of followers."""
        return sum(watch.followers for watch in self._watches.values())

    def follow(
        self,
        space: str,
        head: Callable[[], int],
        *,
        subscribe: Hear | None = None,
        client: Client | None = None,
    ) -> Watch:
        """Follow a space from now on, until ``leave``.

        Args:
            space: Its name.
            head: Reads the version of its log's head, for as long as the space has followers. Runs
                on a thread.
            subscribe: Subscribes to notifications of the log; None: it sends none.
            client: Whose share of the followers it uses; None: it is not limited.

        Raises:
            Overloaded: The limit of followers is reached.
            ShareExceeded: The client has as many followers as it may.
            Stopping: The server is shutting down.
        """
        if self._stopping.is_set():
            raise Stopping("the server is shutting down")
        if self.followers >= self._followers_max:
            raise Overloaded(
                f"{self.followers} streams are open, which is the limit",
                under_way=self.followers,
            )
        self._shares.take(client)
        watch = self._watches.get(space)
        if watch is None:
            watch = self._watches[space] = Watch(head=head, subscribe=subscribe)
            watch.begin(self._threads, self._stopping)
        elif watch.is_lost:
            watch.end()
            watch.head, watch.subscribe, watch.is_lost = head, subscribe, False
            watch.begin(self._threads, self._stopping)
        watch.followers += 1
        return watch

    def leave(self, space: str, client: Client | None = None) -> None:
        """Stop following a space. Call once for each ``follow``, with the same client."""
        self._shares.leave(client)
        watch = self._watches[space]
        watch.followers -= 1
        if not watch.followers:
            watch.end()
            del self._watches[space]

    async def read(self, look: Callable[[], T]) -> T:
        """Read from a log on a thread that is reserved for followers."""
        return await to_thread.run_sync(look, limiter=self._threads)

    def advance(self, space: str, version: int) -> None:
        """Notify followers of a version that this server wrote or read."""
        watch = self._watches.get(space)
        if watch is not None:
            watch.advance(version)


def _set_from_thread(loop: asyncio.AbstractEventLoop, notified: asyncio.Event) -> None:
    """Set an event of *loop* from another thread."""
    with suppress(RuntimeError):  # the loop is closed, and has no waiters
        loop.call_soon_threadsafe(notified.set)
