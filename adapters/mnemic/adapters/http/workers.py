"""The threads that verbs run on: so many at once, so many waiting, and each answered in time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from mnemic.adapters.http.failures import Overdue, Overloaded, Stopping

T = TypeVar("T")


class Workers:
    """A bounded crew. Used on one event loop.

    Args:
        count: Calls that run at once.
        waiting_max: Calls that may wait for one to end.
    """

    def __init__(self, count: int, waiting_max: int) -> None:
        self._threads = ThreadPoolExecutor(count, thread_name_prefix="mnemic-verb")
        self._room = count + waiting_max
        self._under_way: set[asyncio.Future[Any]] = set()

    @property
    def busy(self) -> int:
        """Calls that run or wait, those that nobody waits for any more among them."""
        return len(self._under_way)

    async def run(self, work: Callable[[], T], *, timeout_s: float, done: Callable[[], None]) -> T:
        """Run *work* to its end on a thread, and return what it returns if that comes in time.

        Args:
            work: What is to be done. Once begun it is not stopped.
            timeout_s: How long to wait for it. Range: > 0.
            done: Called once, when it has ended or will never begin, whoever waits for it by then.

        Raises:
            Overloaded: There is no room, or it had to wait too long to begin. Nothing was done.
            Overdue: It had begun, and goes on.
            Stopping: The crew has been sent home.
        """
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
        """Begin nothing more, and wait for what runs; say whether all of it has ended."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        if self._under_way:
            await asyncio.wait(tuple(self._under_way), timeout=timeout_s)
        return not self._under_way

    def _ended(self, doing: asyncio.Future[Any], done: Callable[[], None]) -> None:
        self._under_way.discard(doing)
        if not doing.cancelled():
            doing.exception()  # looked at: whoever waited for it may have gone
        done()
