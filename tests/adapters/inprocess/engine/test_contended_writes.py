"""Contended writes: a command that has waited for the write lock makes use of it."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import pytest

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.inprocess.engine.opening import handle_on
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.system.clocks import ManualClock
from mnemic.adapters.system.entropy import SeededEntropy
from mnemic.kernel.ports import Log


class ContendedLog:
    """A log where another writer always writes while one waits for the write lock."""

    def __init__(self, behind: Log, meanwhile: Callable[[int], object]) -> None:
        self._behind = behind
        self._meanwhile = meanwhile
        self.waits = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._behind, name)

    @contextmanager
    def write_lock(self) -> Generator[None]:
        self.waits += 1
        self._meanwhile(self.waits)
        with self._behind.write_lock():
            yield


def contended_memory(log: Any, clock: ManualClock) -> SyncMemory:
    """Return another memory on the same log, which always has to wait for the write lock."""
    space = handle_on(log, clock=clock, entropy=SeededEntropy("late"), actor="late")
    return SyncMemory(space, embedder=HashEmbedder())


OPERATIONS: list[Callable[[SyncMemory], int]] = [
    lambda memory: memory.learn("a lesson").version,
    lambda memory: memory.consolidate(limit=1).promoted,
    lambda memory: memory.curate().reinforced,
]


@pytest.mark.parametrize("operation", OPERATIONS, ids=["learn", "consolidate", "curate"])
def test_a_quick_command_waits_for_the_write_lock_once(
    operation: Callable[[SyncMemory], int],
) -> None:
    store, clock = MemoryStore(), ManualClock()
    other = SyncMemory.open(store, embedder=HashEmbedder(), clock=clock)
    with other.session():
        other.learn_many(["one", "two", "three"])
        other.consolidate(limit=2)
        clock.advance(hours=1)
    other.learn("what everybody knows by now")
    log = ContendedLog(store.log("default"), lambda wait: other.learn(f"something else {wait}"))
    memory = contended_memory(log, clock)
    assert operation(memory) > 0
    assert log.waits == 1
    assert memory.verify().sound


def test_a_decision_made_before_the_wait_is_made_again_after_it() -> None:
    store, clock = MemoryStore(), ManualClock()
    other = SyncMemory.open(store, embedder=HashEmbedder(), clock=clock)
    wasps = other.learn("wasps never sleep").block_id
    memory = contended_memory(
        ContendedLog(store.log("default"), lambda _: other.forget(wasps)), clock
    )
    assert memory.consolidate().promoted == 0
    assert memory.block(wasps).status == other.block(wasps).status == "archived"
    assert memory.verify().sound
