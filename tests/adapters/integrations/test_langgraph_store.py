"""LangGraph's store on a memory."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from langgraph.store import base

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.integrations.langgraph import AsyncMnemicStore, MnemicStore
from mnemic.adapters.integrations.records import POLICY
from mnemic.adapters.system.clocks import ManualClock
from mnemic.kernel.errors import FieldRefused, VersionConflict
from mnemic.specs.contracts.integrations.langgraph_store import LangGraphStoreContract


class TestContract(LangGraphStoreContract):
    @pytest.fixture
    def clock(self) -> ManualClock:
        return ManualClock()

    @pytest.fixture
    def later(self, clock: ManualClock) -> Callable[[float], None]:
        def move(minutes: float) -> None:
            clock.advance(minutes=minutes)

        return move

    @pytest.fixture
    def ops(self) -> Any:
        return base

    @pytest.fixture
    def make(self, clock: ManualClock) -> Iterator[Callable[..., MnemicStore]]:
        with ExitStack() as opened:

            def make(fields: list[str] | None = None, ttl: Any = None) -> MnemicStore:
                memory = SyncMemory.open(
                    ":memory:", embedder=HashEmbedder(), policy=POLICY, clock=clock
                )
                index: Any = {"fields": fields} if fields else None
                opened.enter_context(memory)
                return MnemicStore(memory, index=index, ttl=ttl, clock=clock)

            yield make


def test_a_write_may_expect_a_version(memory: SyncMemory) -> None:
    store = MnemicStore(memory)
    store.put(("a",), "k", {"n": 1})
    version = store.version
    mine = store.expecting(version)
    mine.put(("a",), "k", {"n": 2})
    mine.put(("a",), "k", {"n": 3})
    with pytest.raises(VersionConflict):
        store.expecting(version).put(("a",), "k", {"n": 4})
    item = store.get(("a",), "k")
    assert item is not None
    assert item.value == {"n": 3}


def test_every_value_stays_in_the_past(memory: SyncMemory) -> None:
    fields: Any = {"fields": ["text"]}
    store = MnemicStore(memory, index=fields)
    store.put(("a",), "k", {"text": "Ines lives in Oslo"})
    before = store.version
    store.put(("a",), "k", {"text": "Ines lives in Bergen"})
    (then,) = memory.as_of(version=before).blocks(key="langgraph/a/k").items
    assert then.content == "Ines lives in Oslo"
    assert [block.content for block in memory.recall("Where does Ines live?").blocks] == [
        "Ines lives in Bergen"
    ]


def test_items_of_a_scope_are_seen_in_it_alone(memory: SyncMemory) -> None:
    stores = [MnemicStore(memory, scope={"user": user}) for user in ("ann", "bob")]
    for number, store in enumerate(stores):
        store.put(("a",), "k", {"n": number})
    assert [[item.value["n"] for item in store.search(())] for store in stores] == [[0], [1]]
    assert MnemicStore(memory).search(()) == []


def test_an_item_does_not_fade() -> None:
    clock, fading = ManualClock(), evolve(POLICY, archive_below=0.999)
    with SyncMemory.open(":memory:", embedder=HashEmbedder(), clock=clock, policy=fading) as memory:
        store = MnemicStore(memory)
        store.put(("a",), "k", {"text": "oil"})
        tea = memory.learn("tea").block_id
        memory.consolidate()
        with memory.session():
            clock.advance(hours=1)
            memory.curate()
        assert memory.block(tea).archive_reason == "decayed"
        assert store.get(("a",), "k") is not None


def test_a_value_that_is_too_large_for_the_space_is_refused(memory: SyncMemory) -> None:
    with pytest.raises(FieldRefused, match="4096"):
        MnemicStore(memory).put(("a",), "k", {"text": "x" * 5000})


def test_a_store_is_kept_in_a_file(tmp_path: Path) -> None:
    index: Any = {"dims": 2, "embed": lambda texts: [[1.0, len(text)] for text in texts]}
    with MnemicStore.from_path(tmp_path / "a.db", index=index) as store:
        store.put(("a",), "k", {"text": "x" * 5000})
    with MnemicStore.from_path(tmp_path / "a.db", index=index) as store:
        assert [item.key for item in store.search(("a",), query="x")] == ["k"]


def test_what_is_awaited_together_is_one_batch(memory: SyncMemory) -> None:
    async def work() -> None:
        store = AsyncMnemicStore(MnemicStore(memory))
        with pytest.raises(asyncio.InvalidStateError):
            store.put(("a",), "k", {"n": 1})
        await asyncio.gather(*(store.aput(("a",), str(n), {"n": n}) for n in range(20)))
        assert len(await store.asearch(("a",), limit=50)) == 20
        found = await store.aget(("a",), "7")
        assert found is not None
        assert found.value == {"n": 7}

    asyncio.run(work())
    learned = [entry for entry in memory.log() if entry.kind == "block-learned"]
    assert len(learned) == 20
    assert len({entry.recorded_at for entry in learned}) == 1
