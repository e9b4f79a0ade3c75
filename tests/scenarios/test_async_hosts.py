"""A few of the scenarios with the async interface."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from mnemic.adapters.inprocess import Memory
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.system.clocks import ManualClock
from mnemic.adapters.system.entropy import SeededEntropy
from mnemic.kernel.errors import BlockNotFound
from mnemic.kernel.model.identity import BlockId

pytestmark = pytest.mark.anyio

CACHE = "Always cache embeddings, since every call to the model costs money"
FRESH = "Never cache embeddings: a vector is stale as soon as its text is edited"
NOTES = "Meeting notes are kept for a year"


@asynccontextmanager
async def learned() -> AsyncGenerator[tuple[Memory, list[BlockId]]]:
    """Open a memory with three blocks."""
    host = {"clock": ManualClock(), "entropy": SeededEntropy("async scenario")}
    async with Memory.open(MemoryStore(), **host) as memory:
        blocks = [(await memory.learn(text)).block_id for text in (CACHE, FRESH, NOTES)]
        await memory.consolidate()
        yield memory, blocks


async def test_a_contradiction_comes_up_as_a_counterpoint() -> None:
    async with learned() as (memory, (cache, fresh, _)):
        await memory.connect(cache, fresh, "contradicts", if_exists="update")
        answer = await memory.recall("should embeddings be cached", top_k=1)
        assert (answer.block_ids, [block.id for block in answer.counterpoints]) == (
            (fresh,),
            [cache],
        )


async def test_an_outcome_edge_gets_a_relation_and_keeps_its_weight() -> None:
    async with learned() as (memory, (cache, _, notes)):
        await memory.outcome([cache, notes], 0.9)
        made = await memory.connect(notes, cache, "supports", if_exists="update")
        assert (made.action, made.relation, made.weight) == ("updated", "supports", 0.72)


async def test_an_edge_is_disconnected_and_reported_as_absent() -> None:
    async with learned() as (memory, (cache, fresh, _)):
        assert (await memory.disconnect(cache, fresh)).removed_relation == "similar"
        assert (await memory.disconnect(cache, fresh)).action == "not_found"
        with pytest.raises(BlockNotFound):
            await memory.disconnect(cache, "0" * 16)


async def test_the_blocks_of_a_session_are_connected_in_one_command() -> None:
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


async def test_connections_are_suggested_on_request() -> None:
    async with learned() as (memory, _):
        async with memory.session():
            await memory.recall("embeddings and meeting notes")
        async with memory.session():
            answer = await memory.recall("embeddings and meeting notes", suggest=True)
        assert 0 < len(answer.suggested_connections) <= 3
