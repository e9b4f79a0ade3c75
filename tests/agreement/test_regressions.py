"""Minimal histories of faults that random histories found first."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

import pytest

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.system.clocks import ManualClock
from mnemic.kernel.errors import FrameUnknown
from mnemic.kernel.ports import Analysis, Passage
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


class Endings:
    """Analyst that has something to say of texts that end in white space."""

    name = "endings"

    def analyse(self, passages: Sequence[Passage]) -> list[Analysis | None]:
        texts = [passage.content for passage in passages]
        return [Analysis(summary=f"about {text}") if text[-1] == " " else None for text in texts]


def test_a_summary_belongs_to_the_text_of_its_time_and_not_to_the_block(
    store: MemoryStore,
) -> None:
    memory = SyncMemory.open(store, embedder=HashEmbedder(16), analyst=Endings())
    block = memory.learn("one thing ").block_id
    memory.consolidate()
    summed_up = memory.status().version
    memory.forget(block)
    assert memory.learn("one thing").block_id == block  # an analyst has nothing to say of this
    assert summary(memory, block) is None
    memory.consolidate()
    assert summary(memory, block) is None
    assert summary(memory.as_of(version=summed_up), block) == "about one thing "
    memory.close()


def test_a_refused_recall_does_not_promote_waiting_blocks(memory: SyncMemory) -> None:
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
