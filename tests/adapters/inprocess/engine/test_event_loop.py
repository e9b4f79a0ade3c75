"""Operations never run on the thread of the event loop, and use few other threads."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import anyio
import pytest

from mnemic.adapters.analysts.rules import RulesAnalyst
from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import Memory
from mnemic.adapters.inprocess.memory import WORKERS_MAX
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.system.clocks import ManualClock
from mnemic.adapters.system.entropy import SeededEntropy
from mnemic.kernel.policy import Policy
from tests.adapters.inprocess.engine.blocking_embedder import Barrier

pytestmark = pytest.mark.anyio
Call: TypeAlias = tuple[str, Callable[[list[Any], Path], dict[str, Any]]]


class ThreadRecorder:
    """Wraps a dependency of a memory and records the threads that it is called on."""

    def __init__(self, behind: Any, threads: set[int]) -> None:
        self._behind = behind
        self._threads = threads

    def __getattr__(self, name: str) -> Any:
        self._threads.add(threading.get_ident())
        found = getattr(self._behind, name)
        return found if name != "log" else self._log

    def _log(self, *args: Any, **keywords: Any) -> ThreadRecorder:
        return ThreadRecorder(self._behind.log(*args, **keywords), self._threads)


OPERATIONS: list[Call] = [
    ("start_session", lambda _, __: {}),
    ("learn", lambda _, __: {"content": "the harbour gate", "tags": ["harbour"]}),
    ("learn_many", lambda _, __: {"lessons": ["a crane", "a storm"]}),
    ("consolidate", lambda _, __: {}),
    ("recall", lambda _, __: {"query": "harbour gate", "frame": "attention"}),
    ("outcome", lambda seen, _: {"decision_id": seen[4].decision_id}),
    ("explain", lambda seen, _: {"decision_id": seen[4].decision_id}),
    ("replay", lambda seen, _: {"decision_id": seen[4].decision_id}),
    ("replay_all", lambda _, __: {}),
    ("backtest", lambda _, __: {"policies": Policy(name="other")}),
    ("connect", lambda seen, _: {"source": seen[1].block_id, "target": seen[4].block_ids[-1]}),
    ("compose", lambda seen, _: {"members": list(seen[4].block_ids[:2])}),
    ("frontier", lambda _, __: {}),
    ("deep_reference", lambda _, __: {"query": "harbour"}),
    ("history", lambda _, __: {}),
    ("timeline", lambda _, __: {}),
    ("curate", lambda _, __: {}),
    ("checkpoint", lambda _, __: {}),
    ("checkpoints", lambda _, __: {}),
    ("export", lambda _, folder: {"path": folder / "out.jsonl"}),
    ("status", lambda _, __: {}),
    ("verify", lambda _, __: {}),
    ("erase", lambda seen, _: {"block_ids": seen[1].block_id}),
    ("end_session", lambda _, __: {}),
]


async def test_no_operation_runs_on_the_thread_of_the_loop(tmp_path: Path) -> None:
    threads: set[int] = set()
    memory = Memory.open(
        ThreadRecorder(MemoryStore(), threads),
        clock=ThreadRecorder(ManualClock(), threads),
        entropy=ThreadRecorder(SeededEntropy("off the loop"), threads),
        embedder=ThreadRecorder(HashEmbedder(), threads),
        analyst=ThreadRecorder(RulesAnalyst(), threads),
        checkpoints=tmp_path,
    )
    assert threads == set()
    used: dict[str, bool] = {}

    async def observed(name: str, call: Callable[[], Any]) -> Any:
        threads.clear()
        found = await call()
        used[name] = bool(threads) and threading.get_ident() not in threads
        return found

    await observed("open", memory.__aenter__)
    seen: list[Any] = []
    for operation, given in OPERATIONS:
        arguments = given(seen, tmp_path)
        seen.append(await observed(operation, lambda: getattr(memory, operation)(**arguments)))  # noqa: B023
    view = await observed("as_of", lambda: memory.as_of(version=14))
    await observed("a view", lambda: view.recall("harbour"))
    await observed("close", memory.close)
    assert used == dict.fromkeys(used, True)


async def test_imports_are_read_outside_the_event_loop(tmp_path: Path) -> None:
    file = tmp_path / "out.jsonl"
    async with Memory.open(MemoryStore(), clock=ManualClock(), embedder=HashEmbedder()) as memory:
        await memory.learn("the harbour gate")
        await memory.export(file)
    threads: set[int] = set()
    store: Any = ThreadRecorder(MemoryStore(), threads)
    await Memory.import_space(file, store)
    assert threads
    assert threading.get_ident() not in threads


async def test_cancelled_callers_leave_few_threads_behind() -> None:
    gate = Barrier()
    async with Memory.open(MemoryStore(), clock=ManualClock(), embedder=gate) as memory:
        await memory.learn("words")
        before = threading.active_count()
        tasks: list[asyncio.Future[Any]] = [asyncio.ensure_future(memory.consolidate())]
        await gate.wait_until_reached()
        for _ in range(3 * WORKERS_MAX):
            task = asyncio.ensure_future(memory.status())
            tasks.append(task)
            await anyio.wait_all_tasks_blocked()
            tasks[-2].cancel()
            await anyio.wait_all_tasks_blocked()
        left = threading.active_count() - before
        tasks[-1].cancel()
        gate.opened.set()
        await asyncio.gather(*tasks, return_exceptions=True)
        # The consolidation goes on without its caller, so it may still be at work.
        with anyio.fail_after(30):
            while (await memory.status()).active != 1:
                pass
    assert left <= WORKERS_MAX + 1  # and the one that waited at the gate
