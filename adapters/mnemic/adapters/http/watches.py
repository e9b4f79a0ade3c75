"""Watches: how far the logs are that somebody follows, and who waits to hear of it.

A write of this process is told at once. What other processes write is found by looking at the head
of the log, often at first and then more rarely, by one look for all who follow the same space. One
that tells of itself is looked at when it does; and still now and then, for word can be lost.
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

from mnemic.adapters.http.failures import Overloaded, Stopping
from mnemic.adapters.inprocess.standing import Hear

T = TypeVar("T")

LOG = logging.getLogger("mnemic.http")

LOOK_MIN_S = 0.02
LOOK_MAX_S = 0.25
"""How long something that another process wrote may stay unseen."""
LOOK_TOLD_MAX_S = 1.0
"""How long it may if the log should have told of it, and did not."""
THREADS = 4
"""Of all who follow logs: they are never in the way of the verbs."""


@define(kw_only=True, eq=False)
class Watch:
    """How far the log of one space is known to be."""

    head: Callable[[], int]
    """Looks where it ends. Runs on a thread."""
    hear: Hear | None = None
    """Asks the log to tell when it may have moved on; None: it does not tell."""
    version: int = -1
    followers: int = 0
    _news: asyncio.Event = field(factory=asyncio.Event)
    _looking: asyncio.Task[None] | None = None
    _told: asyncio.Event = field(factory=asyncio.Event)
    """Set when the log said that it may have moved on."""
    _deaf: Callable[[], None] | None = None
    """Has the log tell no more."""

    def saw(self, version: int) -> None:
        """Take note of a version that stands in the log."""
        if version > self.version:
            self.version = version
            self.rouse()

    def rouse(self) -> None:
        """Wake everybody who waits, for whatever reason."""
        news, self._news = self._news, asyncio.Event()
        news.set()

    async def rest(self, version: int, timeout_s: float) -> None:
        """Wait until the log is known to be beyond *version*, or somebody was roused, or so long.

        Args:
            version: How far whoever waits has read.
            timeout_s: At most.
        """
        if self.version <= version:
            try:
                async with asyncio.timeout(timeout_s):
                    await self._news.wait()
            except TimeoutError:
                return

    def begin(self, threads: CapacityLimiter, stopping: asyncio.Event) -> None:
        """Begin to look."""
        if self.hear is not None:
            self._deaf = self.hear(partial(_tell, asyncio.get_running_loop(), self._told))
        self._looking = asyncio.create_task(self._look(threads, stopping))

    def end(self) -> None:
        """Look no more."""
        if self._deaf is not None:
            self._deaf()
        if self._looking is not None:
            self._looking.cancel()

    async def _look(self, threads: CapacityLimiter, stopping: asyncio.Event) -> None:
        pause_s = LOOK_MIN_S
        most_s = LOOK_MAX_S if self.hear is None else LOOK_TOLD_MAX_S
        while not stopping.is_set():
            await self._pause(pause_s, stopping)
            known = self.version
            try:
                self.saw(await to_thread.run_sync(self.head, limiter=threads))
            except Exception:
                # Whoever follows meets it too, and can say it.
                LOG.debug("the head of a log cannot be seen", exc_info=True)
                self.rouse()
            moved = self.version > known
            pause_s = LOOK_MIN_S if moved else min(2 * pause_s, most_s)
        self.rouse()

    async def _pause(self, pause_s: float, stopping: asyncio.Event) -> None:
        """Wait so long, or until the log has told of itself, or soon after all is to stop."""
        end = time.monotonic() + pause_s
        while not (stopping.is_set() or self._told.is_set()) and time.monotonic() < end:
            with suppress(TimeoutError):
                async with asyncio.timeout(min(pause_s, LOOK_MAX_S)):
                    await self._told.wait()
        self._told.clear()


class Watches:
    """All watches of a server, and how many follow.

    Args:
        followers_max: Who may follow at once, whatever they follow.
        stopping: Set when the server is on its way out; whoever waits hears of it.
    """

    def __init__(self, followers_max: int, stopping: asyncio.Event) -> None:
        self._followers_max = followers_max
        self._stopping = stopping
        self._watches: dict[str, Watch] = {}
        self._threads = CapacityLimiter(THREADS)

    @property
    def is_stopping(self) -> bool:
        """Whether the server is on its way out."""
        return self._stopping.is_set()

    @property
    def followers(self) -> int:
        """Who follow just now."""
        return sum(watch.followers for watch in self._watches.values())

    def follow(self, space: str, head: Callable[[], int], *, hear: Hear | None = None) -> Watch:
        """Follow a space from now on, until ``leave``.

        Args:
            space: Its name.
            head: Looks where its log ends, for as long as anybody follows. Runs on a thread.
            hear: Asks the log to tell of itself; None: it does not.

        Raises:
            Overloaded: As many follow as may.
            Stopping: The server is on its way out.
        """
        if self._stopping.is_set():
            raise Stopping("the server is on its way out")
        if self.followers >= self._followers_max:
            raise Overloaded(
                f"{self.followers} streams are open, which is as many as may be",
                under_way=self.followers,
            )
        watch = self._watches.get(space)
        if watch is None:
            watch = self._watches[space] = Watch(head=head, hear=hear)
            watch.begin(self._threads, self._stopping)
        watch.followers += 1
        return watch

    def leave(self, space: str) -> None:
        """Follow a space no more. Once for each ``follow``."""
        watch = self._watches[space]
        watch.followers -= 1
        if not watch.followers:
            watch.end()
            del self._watches[space]

    async def read(self, look: Callable[[], T]) -> T:
        """Look at a log on a thread that is kept for those who follow."""
        return await to_thread.run_sync(look, limiter=self._threads)

    def saw(self, space: str, version: int) -> None:
        """Take note of what this server wrote, or read, for those who wait for it."""
        watch = self._watches.get(space)
        if watch is not None:
            watch.saw(version)


def _tell(loop: asyncio.AbstractEventLoop, told: asyncio.Event) -> None:
    """Set an event of *loop* from another thread."""
    with suppress(RuntimeError):  # the loop is closed, and nobody waits
        loop.call_soon_threadsafe(told.set)
