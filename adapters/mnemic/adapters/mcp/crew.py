"""The calls of all clients: so many at once, so many waiting, and each answered in time.

A call that has begun goes on to its end, whether somebody still waits for it or not, and takes the
place of another as long. One that has not is not made at all once nobody waits for it.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar, cast

import anyio
from anyio.abc import TaskGroup
from attrs import define, field

from mnemic.adapters.http.failures import Overdue, Overloaded, Stopping
from mnemic.adapters.mcp.limits import Limits

T = TypeVar("T")
LATER = "Come again in a moment: nothing was begun."
AGAIN = (
    "It goes on. Repeat a call that writes with the same command_id, if it had one: it is written "
    "once, and answered as soon as it is done. Else look first whether it was written."
)


@define(eq=False)
class _Job:
    """One call, whoever still waits for it."""

    work: Callable[[], Awaitable[object]]
    turn: anyio.Lock
    answer: object = None
    failure: Exception | None = None
    has_begun: bool = False
    scope: anyio.CancelScope = field(factory=anyio.CancelScope)
    over: anyio.Event = field(factory=anyio.Event)


@define(eq=False)
class Crew:
    """Whoever makes the calls. Used on one event loop.

    Args:
        limits: How many calls, and how long.
    """

    limits: Limits
    _places: anyio.CapacityLimiter = field(init=False)
    _tasks: TaskGroup | None = field(default=None, init=False)
    _under_way: int = field(default=0, init=False)

    def __attrs_post_init__(self) -> None:
        """Make as many places as calls may run at once."""
        self._places = anyio.CapacityLimiter(self.limits.calls_max)

    @asynccontextmanager
    async def working(self) -> AsyncGenerator[None]:
        """Make calls for an ``async with`` block; what has begun by its end is ended first."""
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            try:
                yield
            finally:
                self._tasks = None
                tasks.cancel_scope.cancel()

    @property
    def under_way(self) -> int:
        """Calls that run or wait, those that nobody waits for any more among them."""
        return self._under_way

    def check_room(self) -> None:
        """Refuse a call for which there is no room.

        Raises:
            Overloaded: Nothing was begun.
        """
        if self._under_way >= self.limits.calls_max + self.limits.waiting_max:
            raise Overloaded(
                f"{self._under_way} calls are under way already",
                recovery=LATER,
                under_way=self._under_way,
            )

    async def make(
        self, work: Callable[[], Awaitable[T]], *, turn: anyio.Lock, is_long: bool = False
    ) -> T:
        """Make a call and return what it answers, if that comes in time.

        Args:
            work: The call.
            turn: Of those who make it: their calls are made one after the other, and take one
                place of all, however many they are.
            is_long: Whether it is of those that take long.

        Raises:
            Overloaded: There is no room, or it had to wait too long to begin. Nothing was done.
            Overdue: It had begun, and goes on.
            Stopping: The crew has been sent home.
        """
        self.check_room()
        if self._tasks is None:
            raise Stopping("the server stops, and begins nothing more")
        job = _Job(work, turn)
        self._under_way += 1
        self._tasks.start_soon(self._do, job)
        timeout_s = self.limits.long_timeout_s if is_long else self.limits.call_timeout_s
        try:
            with anyio.move_on_after(timeout_s):
                await job.over.wait()
        finally:
            if not job.has_begun:
                job.scope.cancel()
        if not job.over.is_set():
            raise self._late(job, timeout_s)
        if job.failure is not None:
            raise job.failure
        return cast("T", job.answer)

    async def _do(self, job: _Job) -> None:
        job.failure = Stopping("the server stops")  # unless it ends in another way
        try:
            with job.scope:
                async with job.turn, self._places:
                    job.has_begun = True
                    job.answer = await job.work()
                    job.failure = None
        except Exception as failure:  # noqa: BLE001 - raised where somebody waits for it
            job.failure = failure
        finally:
            self._under_way -= 1
            job.over.set()

    def _late(self, job: _Job, timeout_s: float) -> Overdue | Overloaded:
        if job.has_begun:
            return Overdue(
                f"no answer within {timeout_s:g} seconds", recovery=AGAIN, timeout_s=timeout_s
            )
        return Overloaded(
            f"no place was free for {timeout_s:g} seconds",
            recovery=LATER,
            under_way=self._under_way,
        )
