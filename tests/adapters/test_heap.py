"""Giving back is for the system to notice: nothing changes for who holds something."""

from __future__ import annotations

import gc

from mnemic.adapters.heap import give_back
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.memory import MemoryStore


def test_what_is_held_stays_when_the_rest_is_given_back() -> None:
    held = [bytes([number % 256]) * 100_000 for number in range(300)]
    del held[::2]
    give_back()
    assert held == [bytes([number % 256]) * 100_000 for number in range(1, 300, 2)]


def test_small_memories_that_come_and_go_leave_nothing_behind() -> None:
    def come_and_go() -> int:
        for number in range(60):
            with SyncMemory.open(MemoryStore()) as memory:
                memory.learn(f"memory {number} has come")
        return len(gc.get_objects())

    assert come_and_go() + 20_000 > come_and_go()
