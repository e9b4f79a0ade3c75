"""Progress of long work, told to a client while a worker thread is at it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar, cast

import anyio
from attrs import define
from mcp.server.session import ServerSession

T = TypeVar("T")
LOOK_AGAIN_S = 0.05


@define
class _Tally:
    """How far the work is. A worker notes it and waits for nobody; the client hears the latest."""

    session: ServerSession
    latest: tuple[int, int] = (0, 0)
    told: int = 0

    def note(self, done: int, todo: int) -> None:
        """Take note, on the worker thread."""
        self.latest = (done, todo)

    async def tell(self) -> None:
        """Tell the client what it was not told; progress only ever grows."""
        done, todo = self.latest
        if done > self.told:
            self.told = done
            await self.session.report_progress(done, todo)

    async def follow(self) -> None:
        """Go on telling until cancelled."""
        while True:
            await anyio.sleep(LOOK_AGAIN_S)
            await self.tell()


async def reported(
    session: ServerSession, work: Callable[[Callable[[int, int], None]], Awaitable[T]]
) -> T:
    """Do *work* and tell the client meanwhile how far it is.

    Args:
        session: Of the request; a client that asked for no progress is told nothing.
        work: Called with what the worker calls with what is done and what there is to do.
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
    await tally.tell()
    if failure is not None:
        raise failure
    return cast("T", answer)
