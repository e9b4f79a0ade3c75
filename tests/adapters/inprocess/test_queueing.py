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

    def __init__(self, behind: Log, meanwhile: Callable[[int], object]) -> None:
        self._behind = behind
        self._meanwhile = meanwhile
        self.turns = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._behind, name)

    @contextmanager
    def writing(self) -> Generator[None]:
        self.turns += 1
        self._meanwhile(self.turns)
        with self._behind.writing():
            yield

    @contextmanager
    def writing_if_free(self) -> Generator[bool]:
        yield False


def late(log: Any, clock: ManualClock) -> SyncMemory:
    """Return another memory on the same log, for whom it is always somebody else's turn."""
    space = Space(log, clock=clock, entropy=SeededEntropy("late"), actor="late", read_only=False)
    space.restore()
    return SyncMemory(space, embedder=HashEmbedder())


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
    log = Crowded(store.log("default"), lambda turn: other.learn(f"something else {turn}"))
    memory = late(log, clock)
    assert verb(memory) > 0
    assert log.turns == 1
    assert memory.verify().sound


def test_what_was_decided_before_the_wait_is_decided_afresh_after_it() -> None:
    store, clock = MemoryStore(), ManualClock()
    other = SyncMemory.open(store, embedder=HashEmbedder(), clock=clock)
    wasps = other.learn("wasps never sleep").block_id
    memory = late(Crowded(store.log("default"), lambda _: other.forget(wasps)), clock)
    assert memory.consolidate().promoted == 0
    assert memory.block(wasps).status == other.block(wasps).status == "archived"
    assert memory.verify().sound
