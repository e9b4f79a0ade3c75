"""Recent ids: the blocks of this session, available without passing ids around."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import pytest

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import Memory, SyncMemory
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.system.clocks import ManualClock
from mnemic.kernel.errors import BatchRefused, ContentEmpty, NothingToScore

Open: TypeAlias = Callable[..., SyncMemory]


def recent(memory: SyncMemory | Memory) -> tuple[object, object, object]:
    return (
        memory.last_learned_block_id,
        memory.last_recall_block_ids,
        memory.session_block_ids,
    )


def test_recent_ids_are_empty_at_first(memory: SyncMemory) -> None:
    assert recent(memory) == (None, (), ())


def test_learned_recalled_and_scored_blocks_are_kept_in_the_order_of_first_touch(
    memory: SyncMemory,
) -> None:
    old, older = (memory.learn(text).block_id for text in ("the crane is old", "the gate is older"))
    memory.start_session()
    gull = memory.learn("a gull").block_id
    assert recent(memory) == (gull, (), (gull,))
    found = memory.recall("the crane", top_k=1).block_ids
    assert found == (old,)
    assert recent(memory) == (gull, (old,), (gull, old))
    memory.outcome([gull, older, "nobody"], 0.9)
    assert recent(memory) == (gull, (old,), (gull, old, older))
    memory.recall("a gull", top_k=1, record=False)
    assert recent(memory) == (gull, (gull,), (gull, old, older))


def test_recent_ids_can_be_connected(memory: SyncMemory) -> None:
    memory.learn("decay stops while nobody works")
    memory.recall("decay", top_k=1)
    new = memory.learn("holidays cost nothing").block_id
    assert memory.last_learned_block_id is not None
    made = memory.connect(
        memory.last_learned_block_id, memory.last_recall_block_ids[0], "elaborates"
    )
    assert (made.action, made.source_id) == ("created", new)


@pytest.mark.parametrize("created_at", [None, "2020-01-01"], ids=["restated", "duplicate"])
def test_what_is_known_counts_as_touched_but_not_learned(
    memory: SyncMemory, created_at: str | None
) -> None:
    first = memory.learn("the first").block_id
    second = memory.learn("the second").block_id
    memory.learn("the first", created_at=created_at)
    assert recent(memory) == (second, (), (first, second))


def test_a_batch_counts_its_last_new_block(memory: SyncMemory) -> None:
    known = memory.learn("known").block_id
    batch = memory.learn_many(["one", "", "two", "known "])
    one, two = (batch.results[place].block_id for place in (0, 1))
    assert recent(memory) == (two, (), (known, one, two))


def test_a_revision_counts_as_learned(memory: SyncMemory) -> None:
    old = memory.learn("thirty seconds").block_id
    memory.consolidate()
    new = memory.revise(old, "sixty seconds").block_id
    assert recent(memory) == (new, (), (old, new))


def test_failed_operations_leave_recent_ids_unchanged(memory: SyncMemory) -> None:
    memory.learn("something")
    memory.recall("something")
    before = recent(memory)
    with pytest.raises(ContentEmpty):
        memory.learn("")
    with pytest.raises(NothingToScore):
        memory.outcome([], 0.5)
    with pytest.raises(BatchRefused):
        memory.outcome(["nobody"], 0.5)
    assert recent(memory) == before


def test_a_new_session_clears_recent_ids_and_ending_one_does_not(memory: SyncMemory) -> None:
    memory.learn("before")
    with memory.session():
        assert recent(memory) == (None, (), ())
        within = memory.learn("within").block_id
    assert recent(memory) == (within, (), (within,))
    memory.start_session()
    assert recent(memory) == (None, (), ())


def test_recent_ids_belong_to_one_handle_and_are_not_in_the_log(opened: Open) -> None:
    memory = opened()
    block = memory.learn("a crane").block_id
    with opened() as other:
        assert recent(other) == (None, (), ())
        other.recall("crane")
        assert other.last_recall_block_ids == (block,)
    assert recent(memory) == (block, (), (block,))


def test_views_of_the_past_leave_recent_ids_unchanged(memory: SyncMemory) -> None:
    memory.learn("once")
    memory.consolidate()
    before = recent(memory)
    assert memory.as_of(version=memory.status().version).recall("once").block_ids
    assert recent(memory) == before


@pytest.mark.anyio
async def test_an_async_memory_has_recent_ids() -> None:
    memory = Memory.open(MemoryStore(), embedder=HashEmbedder(), clock=ManualClock())
    assert recent(memory) == (None, (), ())
    async with memory:
        block = (await memory.learn("a gull")).block_id
        await memory.recall("gull")
        assert recent(memory) == (block, (block,), (block,))
