"""``Memory``: the same verbs for async hosts, one after the other, never half done."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import anyio
import pytest

from mnemic.adapters.clocks import ManualClock
from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.entropy import SeededEntropy
from mnemic.adapters.inprocess import Memory, SyncMemory
from mnemic.adapters.inprocess.memory import View
from mnemic.adapters.inprocess.snapshot import SyncView
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.kernel.errors import MnemicError
from mnemic.kernel.policy import Policy
from tests.adapters.inprocess.gates import PATIENCE_S, Gate

pytestmark = pytest.mark.anyio
Script: TypeAlias = list[tuple[str, Callable[[list[Any]], dict[str, Any]]]]


class Meeting:
    """The hash embedder, which answers once as many have come as were to meet."""

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


# --- the same verbs -----------------------------------------------------------------------------


@pytest.mark.parametrize(("sync", "other"), [(SyncMemory, Memory), (SyncView, View)])
def test_every_verb_is_there_with_its_arguments_and_its_words(sync: type, other: type) -> None:
    verbs, twins = public(sync), public(other)
    assert verbs.keys() - twins.keys() == set()
    own = {"open", "seat", "close", "as_of", "session", "guide"}
    for name in verbs.keys() - own:
        assert inspect.signature(twins[name]) == inspect.signature(verbs[name])
        assert inspect.getdoc(twins[name]) == inspect.getdoc(verbs[name])
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
    ("connects", lambda seen: {"edges": [{"source": seen[7].block_id, "target": "nobody"}]}),
    (
        "connect_by_query",
        lambda _: {"source_query": "a crane", "target_query": "a storm", "dry_run": True},
    ),
    ("forget", lambda seen: {"block_id": seen[7].block_id}),
    ("erase", lambda seen: {"block_id": seen[7].block_id}),
    ("adopt_policy", lambda _: {"policy": Policy(name="other")}),
    ("end_session", lambda _: {}),
    ("status", lambda _: {}),
    ("verify", lambda _: {}),
    ("erase_space", lambda _: {}),
]


async def test_every_verb_answers_as_its_twin() -> None:
    wanted: list[Any] = []
    with SyncMemory.open(MemoryStore(), **host()) as memory:
        for verb, given in SCRIPT:
            wanted.append(getattr(memory, verb)(**given(wanted)))
    seen: list[Any] = []
    async with Memory.open(MemoryStore(), **host()) as memory_:
        for verb, given in SCRIPT:
            seen.append(await getattr(memory_, verb)(**given(seen)))
    assert seen == wanted


async def test_a_view_of_the_past_answers_as_its_twin(tmp_path: Path) -> None:
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


async def test_refusals_come_through_as_they_are() -> None:
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


async def test_what_cannot_be_opened_is_refused_on_entering(tmp_path: Path) -> None:
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


async def test_verbs_of_one_memory_run_in_the_order_of_their_calls() -> None:
    gate = Gate()
    async with Memory.open(MemoryStore(), **host(embedder=gate)) as memory:
        await memory.learn("first")
        order: list[str] = []

        async def call(name: str, verb: Callable[[], Any]) -> None:
            await verb()
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


async def test_the_loop_goes_on_while_a_model_works() -> None:
    gate = Gate()
    async with Memory.open(MemoryStore(), **host(embedder=gate)) as memory:
        await memory.learn("slow to embed")
        with anyio.fail_after(PATIENCE_S):
            async with anyio.create_task_group() as group:
                group.start_soon(memory.consolidate)
                await gate.wait_until_reached()
                gate.opened.set()  # said by the loop, while the verb waits for it
        assert (await memory.status()).active == 1


async def test_two_memories_work_side_by_side() -> None:
    barrier = threading.Barrier(2)
    async with (
        Memory.open(MemoryStore(), **host(embedder=Meeting(barrier))) as one,
        Memory.open(MemoryStore(), **host(embedder=Meeting(barrier))) as two,
    ):
        for memory in (one, two):
            await memory.learn("words")
        with anyio.fail_after(PATIENCE_S):
            async with anyio.create_task_group() as group:
                group.start_soon(one.consolidate)
                group.start_soon(two.consolidate)
        assert [(await memory.status()).active for memory in (one, two)] == [1, 1]


# --- cancellation -------------------------------------------------------------------------------


async def test_a_verb_that_was_cancelled_before_it_began_writes_nothing() -> None:
    async with Memory.open(MemoryStore(), **host()) as memory:
        with anyio.CancelScope() as scope:
            scope.cancel()
            await memory.learn("never")
        assert scope.cancelled_caught
        assert (await memory.status()).version == 1


async def test_a_verb_that_is_cancelled_midway_runs_to_its_end(tmp_path: Path) -> None:
    gate = Gate()
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


async def test_a_task_that_is_cancelled_leaves_no_half_command_and_a_usable_memory(
    tmp_path: Path,
) -> None:
    gate = Gate()
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


async def test_closing_while_a_cancelled_verb_still_runs_waits_for_it(tmp_path: Path) -> None:
    gate = Gate()
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
