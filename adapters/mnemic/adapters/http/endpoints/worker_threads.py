"""Bounded thread pool for operations, with a limited queue and a timeout for each call."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from mnemic.adapters.remote.shares import Client, Lanes
from mnemic.adapters.remote.transport_errors import Overdue, Overloaded, Stopping

T = TypeVar("T")


class Workers:
    """A thread pool with a bounded queue. Used on one event loop.

    Args:
        count: Calls that run at once.
        waiting_max: Calls that may wait for a thread.
    """

    def __init__(self, count: int, waiting_max: int) -> None:
        self._threads = ThreadPoolExecutor(count, thread_name_prefix="mnemic-operation")
        self._room = count + waiting_max
        self._lanes = Lanes(running=count, waiting=waiting_max)
        self._under_way: set[asyncio.Future[Any]] = set()

    @property
    def busy(self) -> int:
        """Number of calls that run or wait, including those whose caller has stopped waiting."""
        return len(self._under_way)

    def check_share(self, client: Client | None) -> None:
        """Refuse a client that uses its share of the threads and of the queue already.

        Raises:
            ShareExceeded: It does.
        """
        self._lanes.check(client)

    async def run(
        self,
        work: Callable[[], T],
        *,
        timeout_s: float,
        done: Callable[[], None],
        client: Client | None = None,
    ) -> T:
        """Run *work* to its end on a thread, and return its result if that comes in time.

        Args:
            work: The call. Once it has begun it is not stopped.
            timeout_s: How long to wait for it. Range: > 0.
            done: Called once, when it has ended or will never begin, even if the caller has stopped
                waiting.
            client: The client whose share of threads and queue it uses; None: it is not limited.

        Raises:
            Overloaded: The queue is full, or it waited too long for a thread. Nothing was done.
            ShareExceeded: The client uses its share already. Nothing was done.
            Overdue: It had begun, and continues to run.
            Stopping: The pool is closed.
        """
        begun = time.monotonic()
        try:
            async with asyncio.timeout(timeout_s):
                leave = await self._lanes.enter(client)
        except TimeoutError:
            done()
            raise Overloaded(f"no worker was free for {timeout_s:g} seconds") from None
        except BaseException:
            done()
            raise

        def ended() -> None:
            leave()
            done()

        left_s = timeout_s - (time.monotonic() - begun)
        return await self._run(work, timeout_s=left_s, done=ended)

    async def _run(self, work: Callable[[], T], *, timeout_s: float, done: Callable[[], None]) -> T:
        if self.busy >= self._room:
            done()
            raise Overloaded(f"{self.busy} requests are under way already", under_way=self.busy)
        try:
            thread = self._threads.submit(work)
        except RuntimeError as error:
            done()
            raise Stopping("the server stops, and begins nothing more") from error
        doing = asyncio.wrap_future(thread)
        self._under_way.add(doing)
        doing.add_done_callback(lambda ended: self._ended(ended, done))
        finished, _ = await asyncio.wait((doing,), timeout=timeout_s)
        if finished:
            return doing.result()
        if thread.cancel():
            raise Overloaded(f"no worker was free for {timeout_s:g} seconds", under_way=self.busy)
        raise Overdue(f"no answer within {timeout_s:g} seconds", timeout_s=timeout_s)

    async def close(self, timeout_s: float) -> bool:
        """Begin nothing more, and wait for running calls; return whether all of them have ended."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        if self._under_way:
            await asyncio.wait(tuple(self._under_way), timeout=timeout_s)
        return not self._under_way

    def _ended(self, doing: asyncio.Future[Any], done: Callable[[], None]) -> None:
        self._under_way.discard(doing)
        if not doing.cancelled():
            doing.exception()  # retrieved, because its caller may have stopped waiting
        done()
