"""The call limiter: calls are limited, queued and timed out, and never stopped half-way."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint

from mnemic.adapters.mcp.call_limiter import CallLimiter, Limits
from mnemic.adapters.remote.transport_errors import Overdue, Overloaded, Stopping

SOON_S = 0.05


def run(limits: Limits, scene: Callable[[CallLimiter], Awaitable[None]]) -> None:
    """Run a scene with a call limiter."""

    async def played() -> None:
        call_limiter = CallLimiter(limits)
        with anyio.fail_after(20):
            async with call_limiter.working():
                await scene(call_limiter)
        assert call_limiter.under_way == 0

    anyio.run(played)


class Scene:
    """Calls that end when a test releases them, and their results."""

    def __init__(self, call_limiter: CallLimiter) -> None:
        self.call_limiter = call_limiter
        self.made: list[str] = []
        self.go_on = anyio.Event()
        self.results: dict[str, str] = {}

    async def call(self, name: str, client_lock: anyio.Lock, **more: Any) -> None:
        """Make a call and keep its answer or error code."""

        async def work() -> str:
            self.made.append(f"{name} begins")
            await self.go_on.wait()
            self.made.append(f"{name} ends")
            return "done"

        try:
            self.results[name] = await self.call_limiter.make(work, client_lock=client_lock, **more)
        except (Overloaded, Overdue, Stopping) as error:
            self.results[name] = error.code


async def settled() -> None:
    """Run the event loop until no task can proceed."""
    for _ in range(20):
        await checkpoint()


def test_calls_beyond_the_slots_wait_and_further_ones_are_refused() -> None:
    async def scene(call_limiter: CallLimiter) -> None:
        now = Scene(call_limiter)
        async with anyio.create_task_group() as tasks:
            for name in ("a", "b", "c", "d"):
                tasks.start_soon(now.call, name, anyio.Lock())
            await settled()
            assert (now.made, now.results) == (["a begins", "b begins"], {"d": "overloaded"})
            with pytest.raises(Overloaded, match="3 calls are under way"):
                call_limiter.check_room()
            now.go_on.set()
        assert now.results == {"a": "done", "b": "done", "c": "done", "d": "overloaded"}
        call_limiter.check_room()

    run(Limits(calls_max=2, waiting_max=1), scene)


def test_many_calls_of_one_client_take_one_slot() -> None:
    async def scene(call_limiter: CallLimiter) -> None:
        now, greedy = Scene(call_limiter), anyio.Lock()
        async with anyio.create_task_group() as tasks:
            for name in ("a1", "a2", "a3"):
                tasks.start_soon(now.call, name, greedy)
            tasks.start_soon(now.call, "b", anyio.Lock())
            await settled()
            assert now.made == ["a1 begins", "b begins"]
            now.go_on.set()
        assert now.made[2:4] == ["a1 ends", "b ends"]

    run(Limits(calls_max=2), scene)


def test_an_overdue_call_continues_and_keeps_its_slot() -> None:
    async def scene(call_limiter: CallLimiter) -> None:
        now = Scene(call_limiter)
        await now.call("a", anyio.Lock())
        assert (now.results, call_limiter.under_way) == ({"a": "overdue"}, 1)
        await now.call("b", anyio.Lock())
        assert now.results == {"a": "overdue", "b": "overloaded"}
        now.go_on.set()
        await settled()
        assert now.made == ["a begins", "a ends"]

    run(Limits(calls_max=1, call_timeout_s=SOON_S), scene)


def test_a_long_running_operation_has_its_own_timeout() -> None:
    async def scene(call_limiter: CallLimiter) -> None:
        now = Scene(call_limiter)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(now.call, "short", anyio.Lock())
            await settled()
            tasks.start_soon(lambda: now.call("long", anyio.Lock(), is_long=True))
            while "short" not in now.results:
                await checkpoint()
            now.go_on.set()
        assert now.results == {"short": "overdue", "long": "done"}

    run(Limits(call_timeout_s=SOON_S), scene)


def test_cancelling_drops_waiting_calls_but_not_begun_ones() -> None:
    async def scene(call_limiter: CallLimiter) -> None:
        now = Scene(call_limiter)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(now.call, "begun", anyio.Lock())
            tasks.start_soon(now.call, "waiting", anyio.Lock())
            await settled()
            tasks.cancel_scope.cancel()
        await settled()
        assert call_limiter.under_way == 1
        now.go_on.set()
        await settled()
        assert (now.made, now.results) == (["begun begins", "begun ends"], {})

    run(Limits(calls_max=1), scene)


def test_a_failure_is_raised_unchanged() -> None:
    async def scene(call_limiter: CallLimiter) -> None:
        async def fail() -> None:
            raise KeyError("x")

        with pytest.raises(KeyError):
            await call_limiter.make(fail, client_lock=anyio.Lock())

    run(Limits(), scene)


def test_calls_fail_with_stopping_when_the_call_limiter_stops() -> None:
    async def scene() -> None:
        call_limiter = CallLimiter(Limits())
        now = Scene(call_limiter)
        with anyio.fail_after(20):
            async with anyio.create_task_group() as tasks:
                async with call_limiter.working():
                    tasks.start_soon(now.call, "under way", anyio.Lock())
                    await settled()
                await now.call("later", anyio.Lock())
        assert now.results == {"under way": "stopping", "later": "stopping"}

    anyio.run(scene)
