"""Histories that chance found first, cut down to what matters."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

from mnemic.adapters.clocks import ManualClock
from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.kernel.errors import FrameUnknown
from tests.agreement.agents import Reader


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


def opened(store: MemoryStore) -> SyncMemory:
    return SyncMemory.open(store, embedder=HashEmbedder(16), analyst=Reader(), clock=ManualClock())


@pytest.fixture
def memory(store: MemoryStore) -> Generator[SyncMemory]:
    with opened(store) as memory:
        yield memory


def summary(memory: Any, block: str) -> str | None:
    found: str | None = memory.block(block).summary_text
    return found


def test_a_summary_belongs_to_the_words_of_its_time_and_not_to_the_block(
    memory: SyncMemory,
) -> None:
    block = memory.learn("ONE thing").block_id
    memory.consolidate()
    summed_up = memory.status().version
    memory.forget(block)
    assert memory.learn("one thing").block_id == block  # an analyst has nothing to say of this
    assert summary(memory, block) is None
    memory.consolidate()
    assert summary(memory, block) is None
    assert summary(memory.as_of(version=summed_up), block) == "about ONE thing"


def test_a_recall_that_is_refused_does_not_promote_what_waits(memory: SyncMemory) -> None:
    memory.learn("rain")
    before = memory.status().version
    with pytest.raises(FrameUnknown):
        memory.recall("rain", frame="nobody's")
    assert (memory.status().version, memory.status().inbox) == (before, 1)


def test_a_decision_of_another_process_can_be_scored_at_once(store: MemoryStore) -> None:
    with opened(store) as ann, opened(store) as ben:
        block = ann.learn("rain").block_id
        decision = ann.recall("rain").decision_id
        assert ben.outcome(decision_id=decision, signal=1.0).updated == (block,)
