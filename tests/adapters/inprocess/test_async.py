"""``Memory``: the same operations for async hosts, in order and never half executed."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import anyio
import pytest

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import Memory, SyncMemory
from mnemic.adapters.inprocess.memory import View
from mnemic.adapters.inprocess.view import SyncView
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.system.clocks import ManualClock
from mnemic.adapters.system.entropy import SeededEntropy
from mnemic.kernel.errors import MnemicError
from mnemic.kernel.policy import Policy
from tests.adapters.inprocess.engine.blocking_embedder import PATIENCE_S, Barrier

pytestmark = pytest.mark.anyio
Script: TypeAlias = list[tuple[str, Callable[[list[Any]], dict[str, Any]]]]


class BarrierEmbedder:
    """The hash embedder, which answers once a given number of callers have arrived."""

    identity = HashEmbedder().identity

    def __init__(self, barrier: threading.Barrier) -> None:
        self._barrier = barrier

    def embed(self, texts: Sequence[str]) -> Any:
        self._barrier.wait(PATIENCE_S)
        return HashEmbedder().embed(texts)


def host(**more: Any) -> dict[str, Any]:
    return {
        "clock": ManualClock(),
        "entropy": SeededEntropy("async"),
        "embedder": HashEmbedder(),
        **more,
    }


def public(kind: type) -> dict[str, Any]:
    return {
        name: call for name, call in inspect.getmembers(kind, callable) if not name.startswith("_")
    }


# --- the same operations
# -----------------------------------------------------------------------------


@pytest.mark.parametrize(("sync", "other"), [(SyncMemory, Memory), (SyncView, View)])
def test_every_operation_has_the_same_arguments_and_documentation(sync: type, other: type) -> None:
    operations, twins = public(sync), public(other)
    assert operations.keys() - twins.keys() == set()
    own = {"open", "session_handle", "close", "as_of", "session", "guide"}
    for name in operations.keys() - own:
        assert inspect.signature(twins[name]) == inspect.signature(operations[name])
        assert inspect.getdoc(twins[name]) == inspect.getdoc(operations[name])
        assert inspect.iscoroutinefunction(twins[name])


async def test_the_policy_in_force_is_awaited() -> None:
    async with Memory.open(":memory:", **host()) as memory:
        await memory.adopt_policy(Policy(name="other"))
        assert (await memory.policy()).name == "other"


SCRIPT: Script = [
    ("start_session", lambda _: {}),
    ("learn", lambda _: {"content": "the harbour gate", "tags": ["harbour"]}),
    ("learn_many", lambda _: {"lessons": ["a crane", "", "a storm"]}),
    ("consolidate", lambda _: {}),
    ("connect", lambda seen: {"source": seen[1].block_id, "target": seen[2].results[0].block_id}),
    ("recall", lambda _: {"query": "harbour gate"}),
    ("outcome", lambda seen: {"decision_id": seen[5].decision_id}),
    ("revise", lambda seen: {"block_id": seen[1].block_id, "content": "the harbour door"}),
    ("rezone", lambda seen: {"block_id": seen[7].block_id, "zone": "vetted"}),
    ("curate", lambda _: {}),
    ("replay", lambda seen: {"decision_id": seen[5].decision_id}),
    ("block", lambda seen: {"block_id": seen[7].block_id}),
    ("blocks", lambda _: {}),
    ("edges", lambda seen: {"block_id": seen[7].block_id}),
    ("near_duplicates", lambda _: {}),
    ("pending_connections", lambda _: {}),
    ("history", lambda _: {}),
    ("log", lambda _: {}),
    (
        "connects",
        lambda seen: {
            "edges": [
                {"source": seen[7].block_id, "target": "nobody"},
                {"source": seen[7].block_id, "target": seen[2].results[0].block_id},
            ]
        },
    ),
    (
        "connect_by_query",
        lambda _: {"source_query": "a crane", "target_query": "a storm", "dry_run": True},
    ),
    ("forget", lambda seen: {"block_id": seen[7].block_id}),
    ("erase", lambda seen: {"block_ids": seen[7].block_id}),
    ("adopt_policy", lambda _: {"policy": Policy(name="other")}),
    ("end_session", lambda _: {}),
    ("status", lambda _: {}),
    ("verify", lambda _: {}),
    ("erase_space", lambda _: {"confirm": "default"}),
]


async def test_every_operation_answers_like_its_synchronous_version() -> None:
    wanted: list[Any] = []
    with SyncMemory.open(MemoryStore(), **host()) as memory:
        for operation, given in SCRIPT:
            wanted.append(getattr(memory, operation)(**given(wanted)))
    seen: list[Any] = []
    async with Memory.open(MemoryStore(), **host()) as memory_:
        for operation, given in SCRIPT:
            seen.append(await getattr(memory_, operation)(**given(seen)))
    assert seen == wanted


async def test_a_view_of_the_past_answers_like_its_synchronous_version(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    with SyncMemory.open(path, **host()) as memory:
        block = memory.learn("the harbour gate").block_id
        memory.consolidate()
        twin = memory.as_of(hour=0)
        async with Memory.open(path, **host()) as memory_:
            view = await memory_.as_of(hour=0)
            assert (view.version, view.hour) == (twin.version, twin.hour)
            assert await view.block(block) == twin.block(block)
            assert await view.recall("harbour") == twin.recall("harbour")
            assert await view.status() == twin.status()
            assert await view.log() == twin.log()


async def test_refusals_are_raised_unchanged() -> None:
    async with Memory.open(MemoryStore(), **host()) as memory:
        with pytest.raises(MnemicError) as caught:
            await memory.learn("")
        assert (caught.value.code, bool(caught.value.recovery)) == ("content-empty", True)


# --- open and closed ----------------------------------------------------------------------------


async def test_a_memory_that_is_not_open_says_so() -> None:
    memory = Memory.open(MemoryStore(), **host())
    calls: list[Callable[[], Any]] = [
        lambda: memory.learn("early"),
        memory.status,
        lambda: memory.as_of(version=0),
    ]
    for call in calls:
        with pytest.raises(MnemicError) as caught:
            await call()
        assert (caught.value.code, bool(caught.value.recovery)) == ("closed", True)
    await memory.close()
    async with memory:
        await memory.learn("in time")
    with pytest.raises(MnemicError) as caught:
        await memory.learn("late")
    assert caught.value.code == "closed"


async def test_failure_to_open_is_raised_on_entering(tmp_path: Path) -> None:
    path = tmp_path / "letter.txt"
    path.write_text("Dear Ann,", encoding="utf-8")
    with pytest.raises(MnemicError) as caught:
        async with Memory.open(path, **host()):
            pass
    assert caught.value.code == "not-a-store"


# --- one after the other ------------------------------------------------------------------------


async def test_many_callers_at_once_are_served_in_turn(tmp_path: Path) -> None:
    async with Memory.open(tmp_path / "agent.db", synchronous="normal", **host()) as memory:
        async with anyio.create_task_group() as group:
            for n in range(40):
                group.start_soon(memory.learn, f"note {n}")
        assert (await memory.status()).inbox == 40
        assert [moment.version for moment in await memory.log(after=1)] == list(range(2, 42))
        assert (await memory.verify()).sound


async def test_operations_of_one_memory_run_in_the_order_of_their_calls() -> None:
    gate = Barrier()
    async with Memory.open(MemoryStore(), **host(embedder=gate)) as memory:
        await memory.learn("first")
        order: list[str] = []

        async def call(name: str, operation: Callable[[], Any]) -> None:
            await operation()
            order.append(name)

        with anyio.fail_after(PATIENCE_S):
            async with anyio.create_task_group() as group:
                group.start_soon(call, "consolidate", memory.consolidate)
                await gate.wait_until_reached()
                group.start_soon(call, "learn", lambda: memory.learn("second"))
                await anyio.lowlevel.checkpoint()
                group.start_soon(call, "status", memory.status)
                await anyio.lowlevel.checkpoint()
                assert order == []
                gate.opened.set()
        assert order == ["consolidate", "learn", "status"]


async def test_the_event_loop_runs_while_a_model_works() -> None:
    gate = Barrier()
    async with Memory.open(MemoryStore(), **host(embedder=gate)) as memory:
        await memory.learn("slow to embed")
        with anyio.fail_after(PATIENCE_S):
            async with anyio.create_task_group() as group:
                group.start_soon(memory.consolidate)
                await gate.wait_until_reached()
                gate.opened.set()  # set by the event loop, while the operation waits for it
        assert (await memory.status()).active == 1


async def test_two_memories_work_concurrently() -> None:
    barrier = threading.Barrier(2)
    async with (
        Memory.open(MemoryStore(), **host(embedder=BarrierEmbedder(barrier))) as one,
        Memory.open(MemoryStore(), **host(embedder=BarrierEmbedder(barrier))) as two,
    ):
        for memory in (one, two):
            await memory.learn("words")
        with anyio.fail_after(PATIENCE_S):
            async with anyio.create_task_group() as group:
                group.start_soon(one.consolidate)
                group.start_soon(two.consolidate)
        assert [(await memory.status()).active for memory in (one, two)] == [1, 1]


# --- cancellation -------------------------------------------------------------------------------


async def test_an_operation_that_was_cancelled_before_it_began_writes_nothing() -> None:
    async with Memory.open(MemoryStore(), **host()) as memory:
        with anyio.CancelScope() as scope:
            scope.cancel()
            await memory.learn("never")
        assert scope.cancelled_caught
        assert (await memory.status()).version == 1


async def test_an_operation_that_is_cancelled_midway_runs_to_its_end(tmp_path: Path) -> None:
    gate = Barrier()
    path = tmp_path / "agent.db"
    async with Memory.open(path, **host(embedder=gate)) as memory:
        await memory.learn_many([f"note {n}" for n in range(5)])
        with anyio.fail_after(PATIENCE_S):
            async with anyio.create_task_group() as group:
                group.start_soon(memory.consolidate)
                await gate.wait_until_reached()
                group.cancel_scope.cancel()
                gate.opened.set()
        assert (await memory.status()).active == 5
        assert (await memory.verify()).sound


async def test_a_cancelled_task_leaves_no_partial_command_and_a_usable_memory(
    tmp_path: Path,
) -> None:
    gate = Barrier()
    path = tmp_path / "agent.db"
    async with Memory.open(path, **host(embedder=gate)) as memory:
        await memory.learn_many([f"note {n}" for n in range(5)])
        task = asyncio.ensure_future(memory.consolidate())
        await gate.wait_until_reached()
        task.cancel()
        gate.opened.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        await memory.learn("afterwards")
        status = await memory.status()
        assert (status.active, status.inbox) in {(5, 1), (0, 6)}
        assert (await memory.verify()).sound
    with SyncMemory.open(path, **host()) as again:
        assert again.verify().sound
        assert again.status().active == status.active


async def test_a_session_ends_with_its_block_even_when_cancelled() -> None:
    async with Memory.open(MemoryStore(), **host()) as memory:
        async with memory.session() as session:
            assert (await memory.status()).open_sessions == (session,)
        with anyio.CancelScope() as scope:
            async with memory.session():
                scope.cancel()
                await anyio.lowlevel.checkpoint()
        with pytest.raises(ZeroDivisionError):
            async with memory.session():
                raise ZeroDivisionError
        status = await memory.status()
        assert status.open_sessions == ()
        kinds = [moment.kind for moment in await memory.log(after=1)]
        assert kinds == ["session-started", "session-ended"] * 3


async def test_closing_while_a_cancelled_operation_still_runs_waits_for_it(tmp_path: Path) -> None:
    gate = Barrier()
    path = tmp_path / "agent.db"
    async with Memory.open(path, **host(embedder=gate)) as memory:
        await memory.learn("words")
        task = asyncio.ensure_future(memory.consolidate())
        await gate.wait_until_reached()
        task.cancel()
        closing = asyncio.ensure_future(memory.close())
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not closing.done()
        gate.opened.set()
        await closing
    with SyncMemory.open(path, **host()) as again:
        assert (again.verify().sound, again.status().active) == (True, 1)
