"""A few of the scenarios once more, for hosts that await."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from mnemic.adapters.clocks import ManualClock
from mnemic.adapters.entropy import SeededEntropy
from mnemic.adapters.inprocess import Memory
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.kernel.errors import BlockNotFound
from mnemic.kernel.identity import BlockId

pytestmark = pytest.mark.anyio

CACHE = "Always cache embeddings, since every call to the model costs money"
FRESH = "Never cache embeddings: a vector is stale as soon as its text is edited"
NOTES = "Meeting notes are kept for a year"


@asynccontextmanager
async def learned() -> AsyncGenerator[tuple[Memory, list[BlockId]]]:
    """Open a memory that knows three things."""
    host = {"clock": ManualClock(), "entropy": SeededEntropy("async scenario")}
    async with Memory.open(MemoryStore(), **host) as memory:
        blocks = [(await memory.learn(text)).block_id for text in (CACHE, FRESH, NOTES)]
        await memory.consolidate()
        yield memory, blocks


async def test_a_contradiction_comes_up_as_a_counterpoint() -> None:
    async with learned() as (memory, (cache, fresh, _)):
        await memory.connect(cache, fresh, "contradicts", if_exists="update")
        told = await memory.recall("should embeddings be cached", top_k=1)
        assert (told.block_ids, [block.id for block in told.counterpoints]) == ((cache,), [fresh])


async def test_an_earned_edge_gets_a_meaning_and_keeps_its_weight() -> None:
    async with learned() as (memory, (cache, _, notes)):
        await memory.outcome([cache, notes], 0.9)
        made = await memory.connect(notes, cache, "supports", if_exists="update")
        assert (made.action, made.relation, made.weight) == ("updated", "supports", 0.72)


async def test_an_edge_is_taken_back_and_its_absence_told() -> None:
    async with learned() as (memory, (cache, fresh, _)):
        assert (await memory.disconnect(cache, fresh)).removed_relation == "similar"
        assert (await memory.disconnect(cache, fresh)).action == "not_found"
        with pytest.raises(BlockNotFound):
            await memory.disconnect(cache, "0" * 16)


async def test_a_session_is_looked_back_on_in_one_command() -> None:
    async with learned() as (memory, (cache, _, notes)):
        async with memory.session():
            lesson = (await memory.learn("Stale vectors cost us a morning")).block_id
            await memory.recall("meeting notes", top_k=1)
        assert memory.last_learned_block_id == lesson
        assert memory.last_recall_block_ids == (notes,)
        assert memory.session_block_ids == (lesson, notes)
        done = await memory.connects(
            [
                {"source": lesson, "target": cache, "relation": "contradicts"},
                {"source": lesson, "target": lesson},
            ]
        )
        assert (len(done.results), [error.code for error in done.errors]) == (1, ["self-loop"])


async def test_two_descriptions_connect_two_blocks() -> None:
    async with learned() as (memory, (cache, _, notes)):
        done = await memory.connect_by_query(CACHE, NOTES, "supports")
        assert (done.action, done.source_id, done.target_id) == ("connected", cache, notes)


async def test_what_is_wanted_is_suggested() -> None:
    async with learned() as (memory, _):
        async with memory.session():
            await memory.recall("embeddings and meeting notes")
        async with memory.session():
            told = await memory.recall("embeddings and meeting notes", suggest=True)
        assert 0 < len(told.suggested_connections) <= 3
