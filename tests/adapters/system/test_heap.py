"""Returning memory to the system changes nothing for live objects."""

from __future__ import annotations

import gc

from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.system.heap import give_back


def test_giving_memory_back_keeps_live_objects() -> None:
    held = [bytes([number % 256]) * 100_000 for number in range(300)]
    del held[::2]
    give_back()
    assert held == [bytes([number % 256]) * 100_000 for number in range(1, 300, 2)]


def test_opening_and_closing_small_memories_leaks_nothing() -> None:
    def come_and_go() -> int:
        for number in range(60):
            with SyncMemory.open(MemoryStore()) as memory:
                memory.learn(f"memory {number} has come")
        return len(gc.get_objects())

    assert come_and_go() + 20_000 > come_and_go()
