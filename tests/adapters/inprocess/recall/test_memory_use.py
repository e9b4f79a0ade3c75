"""What a recall needed is freed with its answer: nothing waits for the garbage collector."""

from __future__ import annotations

import gc
from pathlib import Path

from mnemic import SyncMemory
from mnemic.adapters.embedders.hashing import HashEmbedder


def work(memory: SyncMemory, number: int) -> None:
    """Write and read once in each way that a running agent does."""
    memory.learn(f"Boat {number} leaves from pier {number % 7}.", author="Ines")
    answer = memory.recall(f"Where does boat {number} leave from?")
    memory.outcome(decision_id=answer.decision_id, signal=0.9)
    memory.as_of(decision=answer.decision_id).recall("boats")


def test_no_reference_cycle_is_left(tmp_path: Path) -> None:
    with SyncMemory.open(tmp_path / "memory.db", embedder=HashEmbedder()) as memory:
        for number in range(3):
            work(memory, number)
        gc.collect()
        gc.disable()
        try:
            for number in range(3, 6):
                work(memory, number)
            assert gc.collect() == 0
        finally:
            gc.enable()
