"""Many writers: whoever has waited for a turn makes use of it."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import pytest

from mnemic.adapters.clocks import ManualClock
from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.entropy import SeededEntropy
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.inprocess.space import Space
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.kernel.ports import Log


class Crowded:
    """A log where somebody else always writes while one waits for the turn."""

    def __init__(self, behind: Log, other: SyncMemory) -> None:
        self._behind = behind
        self._other = other
        self.turns = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._behind, name)

    @contextmanager
    def writing(self) -> Generator[None]:
        self.turns += 1
        self._other.learn(f"something else {self.turns}")
        with self._behind.writing():
            yield


VERBS: list[Callable[[SyncMemory], int]] = [
    lambda memory: memory.learn("a lesson").version,
    lambda memory: memory.consolidate(limit=1).promoted,
    lambda memory: memory.curate().reinforced,
]


@pytest.mark.parametrize("verb", VERBS, ids=["learn", "consolidate", "curate"])
def test_a_command_that_is_decided_quickly_waits_for_one_turn(
    verb: Callable[[SyncMemory], int],
) -> None:
    store, clock = MemoryStore(), ManualClock()
    other = SyncMemory.open(store, embedder=HashEmbedder(), clock=clock)
    with other.session():
        other.learn_many(["one", "two", "three"])
        other.consolidate(limit=2)
        clock.advance(hours=1)
    other.learn("what everybody knows by now")
    log: Any = Crowded(store.log("default"), other)
    space = Space(log, clock=clock, entropy=SeededEntropy("late"), actor="late", read_only=False)
    space.restore()
    memory = SyncMemory(space, embedder=HashEmbedder())
    assert verb(memory) > 0
    assert log.turns == 1
    assert memory.verify().sound
