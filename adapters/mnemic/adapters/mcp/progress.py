"""Progress notifications to a client while a worker thread does long-running work."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar, cast

import anyio
from attrs import define
from mcp.server.session import ServerSession

T = TypeVar("T")
REPORT_INTERVAL_S = 0.05


@define
class _Tally:
    """The latest progress. A worker notes it without waiting; the client is sent the latest."""

    session: ServerSession
    latest: tuple[int, int] = (0, 0)
    reported: int = 0

    def note(self, done: int, todo: int) -> None:
        """Record the progress, on the worker thread."""
        self.latest = (done, todo)

    async def report(self) -> None:
        """Send the client progress that it has not been sent; progress only ever grows."""
        done, todo = self.latest
        if done > self.reported:
            self.reported = done
            await self.session.report_progress(done, todo)

    async def follow(self) -> None:
        """Report at intervals until cancelled."""
        while True:
            await anyio.sleep(REPORT_INTERVAL_S)
            await self.report()


async def reported(
    session: ServerSession, work: Callable[[Callable[[int, int], None]], Awaitable[T]]
) -> T:
    """Do *work* and report its progress to the client meanwhile.

    Args:
        session: Of the request; a client that requested no progress is sent none.
        work: Called with a callback that the worker calls with the units done and to do.
    """
    tally = _Tally(session)
    answer: T | None = None
    failure: Exception | None = None
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(tally.follow)
        try:
            answer = await work(tally.note)
        except Exception as error:  # noqa: BLE001 - raised below, out of the task group
            failure = error
        tasks.cancel_scope.cancel()
    await tally.report()
    if failure is not None:
        raise failure
    return cast("T", answer)
