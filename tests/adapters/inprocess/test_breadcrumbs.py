"""Breadcrumbs: the blocks of this session, at hand without carrying ids around."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import pytest

from mnemic.adapters.clocks import ManualClock
from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import Memory, SyncMemory
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.kernel.errors import ContentEmpty, NothingToScore

Open: TypeAlias = Callable[..., SyncMemory]


def crumbs(memory: SyncMemory | Memory) -> tuple[object, object, object]:
    return (
        memory.last_learned_block_id,
        memory.last_recall_block_ids,
        memory.session_block_ids,
    )


def test_at_first_there_are_none(memory: SyncMemory) -> None:
    assert crumbs(memory) == (None, (), ())


def test_learned_recalled_and_scored_blocks_are_kept_in_the_order_of_first_touch(
    memory: SyncMemory,
) -> None:
    old, older = (memory.learn(text).block_id for text in ("the crane is old", "the gate is older"))
    memory.start_session()
    gull = memory.learn("a gull").block_id
    assert crumbs(memory) == (gull, (), (gull,))
    found = memory.recall("the crane", top_k=1).block_ids
    assert found == (old,)
    assert crumbs(memory) == (gull, (old,), (gull, old))
    memory.outcome([gull, older, "nobody"], 0.9)
    assert crumbs(memory) == (gull, (old,), (gull, old, older))
    memory.recall("a gull", top_k=1, record=False)
    assert crumbs(memory) == (gull, (gull,), (gull, old, older))


def test_they_make_connecting_a_matter_of_two_names(memory: SyncMemory) -> None:
    memory.learn("decay stops while nobody works")
    memory.recall("decay", top_k=1)
    new = memory.learn("holidays cost nothing").block_id
    assert memory.last_learned_block_id is not None
    made = memory.connect(
        memory.last_learned_block_id, memory.last_recall_block_ids[0], "elaborates"
    )
    assert (made.action, made.source_id) == ("created", new)


def test_what_was_known_already_was_touched_but_not_learned(memory: SyncMemory) -> None:
    first = memory.learn("the first").block_id
    second = memory.learn("the second").block_id
    memory.learn("The FIRST")
    assert crumbs(memory) == (second, (), (first, second))


def test_a_batch_counts_its_last_new_block(memory: SyncMemory) -> None:
    known = memory.learn("known").block_id
    batch = memory.learn_many(["one", "", "two", "KNOWN"])
    one, two = (batch.results[place].block_id for place in (0, 1))
    assert crumbs(memory) == (two, (), (known, one, two))


def test_new_words_for_a_block_are_a_block_learned(memory: SyncMemory) -> None:
    old = memory.learn("thirty seconds").block_id
    memory.consolidate()
    new = memory.revise(old, "sixty seconds").block_id
    assert crumbs(memory) == (new, (), (old, new))


def test_what_failed_leaves_them_as_they_were(memory: SyncMemory) -> None:
    memory.learn("something")
    memory.recall("something")
    before = crumbs(memory)
    with pytest.raises(ContentEmpty):
        memory.learn("")
    with pytest.raises(NothingToScore):
        memory.outcome([], 0.5)
    memory.outcome(["nobody"], 0.5)
    assert crumbs(memory) == before


def test_a_new_session_clears_them_and_the_end_of_one_does_not(memory: SyncMemory) -> None:
    memory.learn("before")
    with memory.session():
        assert crumbs(memory) == (None, (), ())
        within = memory.learn("within").block_id
    assert crumbs(memory) == (within, (), (within,))
    memory.start_session()
    assert crumbs(memory) == (None, (), ())


def test_they_are_this_handle_s_own_and_stand_in_no_log(opened: Open) -> None:
    memory = opened()
    block = memory.learn("a crane").block_id
    with opened() as other:
        assert crumbs(other) == (None, (), ())
        other.recall("crane")
        assert other.last_recall_block_ids == (block,)
    assert crumbs(memory) == (block, (), (block,))


def test_looking_at_the_past_leaves_no_crumbs(memory: SyncMemory) -> None:
    memory.learn("once")
    memory.consolidate()
    before = crumbs(memory)
    assert memory.as_of(version=memory.status().version).recall("once").block_ids
    assert crumbs(memory) == before


@pytest.mark.anyio
async def test_an_async_memory_has_them_too() -> None:
    memory = Memory.open(MemoryStore(), embedder=HashEmbedder(), clock=ManualClock())
    assert crumbs(memory) == (None, (), ())
    async with memory:
        block = (await memory.learn("a gull")).block_id
        await memory.recall("gull")
        assert crumbs(memory) == (block, (block,), (block,))
