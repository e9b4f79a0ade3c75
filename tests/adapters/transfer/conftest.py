"""A small memory in which most kinds of event happened, words were erased, and commands repeat."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.system.clocks import ManualClock
from mnemic.adapters.system.entropy import SeededEntropy
from mnemic.kernel.policy import Policy

Open: TypeAlias = Callable[..., SyncMemory]


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
def opened(clock: ManualClock, store: MemoryStore) -> Generator[Open]:
    """Open a handle on the store of the test, or on what the test names; all are closed."""
    handles = count()
    with ExitStack() as stack:

        def handle(where: object = store, **host: Any) -> SyncMemory:
            host.setdefault("clock", clock)
            host.setdefault("embedder", HashEmbedder())
            host.setdefault("entropy", SeededEntropy(f"handle {next(handles)}"))
            return stack.enter_context(SyncMemory.open(where, **host))  # type: ignore[arg-type]

        yield handle


@pytest.fixture
def memory(opened: Open, clock: ManualClock) -> SyncMemory:
    """A memory with three decisions: d8, one by another policy, and one after an erasure."""
    memory = opened()
    memory.start_session()
    gate = memory.learn("the harbour gate opens at six", tags=["gate"], command_id="first")
    late = memory.learn("the harbour gate closes at nine", author="Ann")
    crane = memory.learn("the crane needs oil", metadata={"crane": 2})
    memory.learn_many(["gulls are loud", "tides turn at noon"], command_id="many")
    memory.connect(gate.block_id, late.block_id, "elaborates", note="hours")
    memory.recall("when does the harbour gate open")
    clock.advance(minutes=50)
    memory.adopt_policy(Policy(name="other", top_k=3))
    memory.outcome([gate.block_id, late.block_id], 0.9, command_id="helped")
    memory.recall("crane oil")
    memory.erase(crane.block_id)
    memory.revise(late.block_id, "the harbour gate closes at ten", "new rota")
    memory.recall("harbour gate")
    memory.end_session()
    return memory


@pytest.fixture
def decisions(memory: SyncMemory) -> list[str]:
    """Return the ids of all decisions of the memory, in order."""
    return [f"d{each.version}" for each in memory.log() if each.kind == "recall-recorded"]


@pytest.fixture
def exported(memory: SyncMemory, tmp_path: Path) -> Path:
    """The memory as an export."""
    path = tmp_path / "log.ndjson"
    memory.export(path)
    return path
