"""So many calls at once, so many waiting, each answered in time, and none stopped half-way."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint

from mnemic.adapters.http.failures import Overdue, Overloaded, Stopping
from mnemic.adapters.mcp.crew import Crew
from mnemic.adapters.mcp.limits import Limits

SOON_S = 0.05


def run(limits: Limits, scene: Callable[[Crew], Awaitable[None]]) -> None:
    """Play a scene with a crew."""

    async def played() -> None:
        crew = Crew(limits)
        with anyio.fail_after(20):
            async with crew.working():
                await scene(crew)
        assert crew.under_way == 0

    anyio.run(played)


class Scene:
    """Calls that end when a test wants, and what became of them."""

    def __init__(self, crew: Crew) -> None:
        self.crew = crew
        self.made: list[str] = []
        self.go_on = anyio.Event()
        self.told: dict[str, str] = {}

    async def call(self, name: str, turn: anyio.Lock, **more: Any) -> None:
        """Make a call and keep what it came to."""

        async def work() -> str:
            self.made.append(f"{name} begins")
            await self.go_on.wait()
            self.made.append(f"{name} ends")
            return "done"

        try:
            self.told[name] = await self.crew.make(work, turn=turn, **more)
        except (Overloaded, Overdue, Stopping) as error:
            self.told[name] = error.code


async def settled() -> None:
    """Let everything happen that can."""
    for _ in range(20):
        await checkpoint()


def test_calls_beyond_the_places_wait_and_those_beyond_are_sent_away() -> None:
    async def scene(crew: Crew) -> None:
        now = Scene(crew)
        async with anyio.create_task_group() as tasks:
            for name in ("a", "b", "c", "d"):
                tasks.start_soon(now.call, name, anyio.Lock())
            await settled()
            assert (now.made, now.told) == (["a begins", "b begins"], {"d": "overloaded"})
            with pytest.raises(Overloaded, match="3 calls are under way"):
                crew.check_room()
            now.go_on.set()
        assert now.told == {"a": "done", "b": "done", "c": "done", "d": "overloaded"}
        crew.check_room()

    run(Limits(calls_max=2, waiting_max=1), scene)


def test_whoever_makes_many_calls_takes_one_place() -> None:
    async def scene(crew: Crew) -> None:
        now, greedy = Scene(crew), anyio.Lock()
        async with anyio.create_task_group() as tasks:
            for name in ("a1", "a2", "a3"):
                tasks.start_soon(now.call, name, greedy)
            tasks.start_soon(now.call, "b", anyio.Lock())
            await settled()
            assert now.made == ["a1 begins", "b begins"]
            now.go_on.set()
        assert now.made[2:4] == ["a1 ends", "b ends"]

    run(Limits(calls_max=2), scene)


def test_a_call_that_takes_too_long_goes_on_and_keeps_its_place() -> None:
    async def scene(crew: Crew) -> None:
        now = Scene(crew)
        await now.call("a", anyio.Lock())
        assert (now.told, crew.under_way) == ({"a": "overdue"}, 1)
        await now.call("b", anyio.Lock())
        assert now.told == {"a": "overdue", "b": "overloaded"}
        now.go_on.set()
        await settled()
        assert now.made == ["a begins", "a ends"]

    run(Limits(calls_max=1, call_timeout_s=SOON_S), scene)


def test_a_call_that_takes_long_by_nature_has_its_own_time() -> None:
    async def scene(crew: Crew) -> None:
        now = Scene(crew)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(now.call, "short", anyio.Lock())
            await settled()
            tasks.start_soon(lambda: now.call("long", anyio.Lock(), is_long=True))
            while "short" not in now.told:
                await checkpoint()
            now.go_on.set()
        assert now.told == {"short": "overdue", "long": "done"}

    run(Limits(call_timeout_s=SOON_S), scene)


def test_whoever_gives_up_stops_nothing_that_has_begun_and_all_that_has_not() -> None:
    async def scene(crew: Crew) -> None:
        now = Scene(crew)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(now.call, "begun", anyio.Lock())
            tasks.start_soon(now.call, "waiting", anyio.Lock())
            await settled()
            tasks.cancel_scope.cancel()
        await settled()
        assert crew.under_way == 1
        now.go_on.set()
        await settled()
        assert (now.made, now.told) == (["begun begins", "begun ends"], {})

    run(Limits(calls_max=1), scene)


def test_a_failure_comes_out_as_it_is() -> None:
    async def scene(crew: Crew) -> None:
        async def fail() -> None:
            raise KeyError("x")

        with pytest.raises(KeyError):
            await crew.make(fail, turn=anyio.Lock())

    run(Limits(), scene)


def test_whoever_still_waits_when_the_crew_goes_home_is_told() -> None:
    async def scene() -> None:
        crew = Crew(Limits())
        now = Scene(crew)
        with anyio.fail_after(20):
            async with anyio.create_task_group() as tasks:
                async with crew.working():
                    tasks.start_soon(now.call, "under way", anyio.Lock())
                    await settled()
                await now.call("later", anyio.Lock())
        assert now.told == {"under way": "stopping", "later": "stopping"}

    anyio.run(scene)
