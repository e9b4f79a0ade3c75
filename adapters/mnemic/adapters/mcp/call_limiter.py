"""Limits on the calls of all clients: how many run at once, how many wait, and for how long.

A call that has begun runs to its end even if its client stopped waiting, and keeps its slot until
then. A call that has not begun is dropped as soon as its client stops waiting.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from math import inf
from typing import TypeVar, cast

import anyio
from anyio.abc import TaskGroup
from attrs import define, field, frozen
from attrs.validators import ge, gt

from mnemic.adapters.remote.shares import Client, Lanes
from mnemic.adapters.remote.transport_errors import Overdue, Overloaded, Stopping

MEGABYTE = 1 << 20
T = TypeVar("T")
LATER = "Retry in a moment: nothing was begun."
AGAIN = (
    "It continues. Repeat a call that writes with the same command_id, if it had one: it is "
    "written once, and answered as soon as it is done. Otherwise check first whether it was "
    "written."
)


@frozen(kw_only=True)
class Limits:
    """The limits of the interface over HTTP; over a pipe only those on calls apply."""

    body_max_bytes: int = field(default=4 * MEGABYTE, validator=ge(1))
    """Maximum size of a request body."""
    body_timeout_s: float = field(default=30.0, validator=gt(0))
    """Time within which the whole body of a request must arrive."""
    calls_max: int = field(default=16, validator=ge(1))
    """Calls that run at once."""
    waiting_max: int = field(default=128, validator=ge(0))
    """Calls that may wait; further ones are refused and asked to retry."""
    call_timeout_s: float = field(default=60.0, validator=gt(0))
    """Time within which a call must be answered, waiting included."""
    long_timeout_s: float = field(default=3600.0, validator=gt(0))
    """The same for long-running operations."""
    listeners_max: int = field(default=256, validator=ge(1))
    """Open streams on which clients only listen."""
    retry_after_s: int = field(default=1, validator=ge(1))
    """The delay that a refused client is asked to wait before it retries."""


OF_A_PIPE = Limits(calls_max=1, call_timeout_s=inf, long_timeout_s=inf)
"""Limits over a pipe: one client, calls one after the other, no timeout but the client's own."""


@define(eq=False)
class _Job:
    """One call, which may outlive the client's wait for it."""

    work: Callable[[], Awaitable[object]]
    client_lock: anyio.Lock
    client: Client | None
    answer: object = None
    failure: Exception | None = None
    has_begun: bool = False
    scope: anyio.CancelScope = field(factory=anyio.CancelScope)
    over: anyio.Event = field(factory=anyio.Event)


@define(eq=False)
class CallLimiter:
    """Runs the calls of all clients within limits. Used on one event loop.

    Args:
        limits: How many calls may run and wait, and for how long.
    """

    limits: Limits
    _slots: anyio.CapacityLimiter = field(init=False)
    _lanes: Lanes = field(init=False)
    _tasks: TaskGroup | None = field(default=None, init=False)
    _under_way: int = field(default=0, init=False)

    def __attrs_post_init__(self) -> None:
        """Create as many slots as calls may run at once."""
        self._slots = anyio.CapacityLimiter(self.limits.calls_max)
        self._lanes = Lanes(running=self.limits.calls_max, waiting=self.limits.waiting_max)

    @asynccontextmanager
    async def working(self) -> AsyncGenerator[None]:
        """Accept calls for an ``async with`` block; its end cancels and awaits calls under way."""
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            try:
                yield
            finally:
                self._tasks = None
                tasks.cancel_scope.cancel()

    @property
    def under_way(self) -> int:
        """The number of calls that run or wait, including those whose client stopped waiting."""
        return self._under_way

    def check_room(self, client: Client | None = None) -> None:
        """Refuse a call beyond the limits of running and waiting calls.

        Args:
            client: Whose share it would use; None: it is not limited.

        Raises:
            Overloaded: Nothing was begun.
            ShareExceeded: The client uses its share already.
        """
        self._lanes.check(client)
        if self._under_way >= self.limits.calls_max + self.limits.waiting_max:
            raise Overloaded(
                f"{self._under_way} calls are under way already",
                recovery=LATER,
                under_way=self._under_way,
            )

    async def make(
        self,
        work: Callable[[], Awaitable[T]],
        *,
        client_lock: anyio.Lock,
        client: Client | None = None,
        is_long: bool = False,
    ) -> T:
        """Make a call and return its answer, if that comes in time.

        Args:
            work: The call.
            client_lock: The lock of the calling client: its calls are made one after the other and
                occupy one slot together, however many they are.
            client: Whose share of the calls it uses; None: it is not limited.
            is_long: Whether the call is a long-running operation.

        Raises:
            Overloaded: Too many calls, or the call waited too long to begin. Nothing was done.
            ShareExceeded: The client uses its share already. Nothing was done.
            Overdue: The call had begun, and continues.
            Stopping: The server is stopping and takes no further calls.
        """
        self.check_room(client)
        if self._tasks is None:
            raise Stopping("the server stops, and begins nothing more")
        job = _Job(work, client_lock, client)
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
                leave = await self._lanes.enter(job.client)
                try:
                    async with job.client_lock, self._slots:
                        job.has_begun = True
                        job.answer = await job.work()
                        job.failure = None
                finally:
                    leave()
        except Exception as failure:  # noqa: BLE001 - raised where the call is awaited
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
            f"no call slot was free for {timeout_s:g} seconds",
            recovery=LATER,
            under_way=self._under_way,
        )
