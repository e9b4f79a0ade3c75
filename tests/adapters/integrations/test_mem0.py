"""mem0's ``Memory`` and ``AsyncMemory`` on a memory."""

from __future__ import annotations

import asyncio
import importlib.util
import inspect
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.extractors.chat import ChatExtractor
from mnemic.adapters.importers.memories.changes import Options
from mnemic.adapters.importers.memories.importing import import_changes
from mnemic.adapters.importers.memories.kinds import kind_named
from mnemic.adapters.importers.memories.ordered_changes import OrderedChanges
from mnemic.adapters.importers.memories.recorded_times import ImportClock
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.integrations.mem0 import AsyncMemory, Memory
from mnemic.adapters.integrations.mem0.configuration import extractor_of
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.system.clocks import SystemClock
from mnemic.kernel.timestamps import instant
from mnemic.specs.contracts.integrations.mem0_memory import INES, Mem0MemoryContract, texts
from tests.suites import mem0_calls

needs_mem0 = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("mem0", "faiss")),
    reason="mem0ai and faiss-cpu are not installed (extra suites)",
)


@pytest.fixture
def behind() -> Iterator[SyncMemory]:
    with SyncMemory.open(":memory:", embedder=HashEmbedder(256)) as memory:
        yield memory


@pytest.fixture
def memory(behind: SyncMemory) -> Memory:
    return Memory(memory=behind, extract="rules")


class TestContract(Mem0MemoryContract):
    @pytest.fixture
    def memory(self, behind: SyncMemory) -> Memory:
        return Memory(memory=behind)


@needs_mem0
@pytest.mark.extended
class TestContractOfMem0(Mem0MemoryContract):
    """The contract says what mem0 itself does."""

    @pytest.fixture
    def memory(self) -> Iterator[Any]:
        with mem0_calls.theirs("faiss", is_async=False) as memory:
            yield memory


@needs_mem0
@pytest.mark.extended
@pytest.mark.parametrize("kind", ["Memory", "AsyncMemory"])
def test_every_call_gives_what_mem0_gives_or_the_difference_is_explained(kind: str) -> None:
    found = mem0_calls.compared(is_async=kind == "AsyncMemory")
    assert found.unexplained == ()
    assert found.alike > found.calls * 0.9


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"rank": {"gte": 1}}, {"b", "c"}),
        ({"rank": {"gt": 1, "lt": 9}}, {"c"}),
        ({"rank": {"lte": 0}}, {"a"}),
        ({"rank": {"ne": 1}}, {"a", "c"}),
        ({"rank": {"in": [0, 2]}}, {"a", "c"}),
        ({"rank": {"nin": [0, 2]}}, {"b"}),
        ({"topic": {"contains": "or"}}, {"b"}),
        ({"topic": {"icontains": "WOR"}}, {"b"}),
        ({"topic": {"gt": 5}}, set()),
        ({"topic": "*"}, {"a", "b", "c"}),
        ({"AND": [{"rank": 1}, {"topic": "work"}]}, {"b"}),
        ({"OR": [{"rank": 0}, {"rank": {"gt": 1}}]}, {"a", "c"}),
        ({"NOT": [{"rank": 0}, {"topic": "work"}]}, {"c"}),
    ],
)
def test_operators_filter_what_is_listed_and_found(
    memory: Memory, given: dict[str, Any], found: set[str]
) -> None:
    for rank, (name, topic) in enumerate((("a", "home"), ("b", "work"), ("c", "pet"))):
        metadata = {"name": name, "topic": topic, "rank": rank}
        memory.add(f"river {name}", **INES, metadata=metadata, infer=False)
    filters = {**INES, **given}
    for results in (memory.get_all(filters=filters), memory.search("river", filters=filters)):
        assert {each["metadata"]["name"] for each in results["results"]} == found


def test_a_search_is_a_recorded_recall(memory: Memory, behind: SyncMemory) -> None:
    memory.add("My cat is called Miso.", **INES, infer=False)
    memory.search("cat", filters=INES)
    memory.search("cat", filters={**INES, "topic": {"ne": "x"}})
    assert [each.query for each in behind.decisions().items] == ["cat"]


def test_the_past_of_an_updated_memory_can_be_read(memory: Memory, behind: SyncMemory) -> None:
    (added,) = memory.add("I live in Oslo.", **INES, infer=False)["results"]
    memory.update(added["id"], "I live in Bergen.")
    memory.delete(added["id"])
    for row in memory.history(added["id"])[:2]:
        then = behind.as_of(version=int(row["id"])).blocks(key=f"mem0/{added['id']}").items
        assert [block.content for block in then if block.status != "archived"] == [
            row["new_memory"]
        ]


def test_messages_are_kept_and_facts_are_the_memories(memory: Memory, behind: SyncMemory) -> None:
    said = {
        "role": "user",
        "name": "Ines",
        "content": "I live in Oslo. Nice day!",
        "metadata": None,
    }
    (added,) = memory.add([said], **INES)["results"]
    assert added == {"id": added["id"], "memory": "I live in Oslo.", "event": "ADD"}
    assert memory.add([said], **INES)["results"] == []
    assert texts(memory.get_all(filters=INES)) == ["I live in Oslo."]
    assert texts(memory.search("Where do I live?", filters=INES)) == ["I live in Oslo."]
    kept = {block.content for block in behind.blocks(category="message").items}
    assert kept == {said["content"]}
    assert behind.sources(of=added["id"])


def test_a_fact_is_updated_under_its_id(memory: Memory, behind: SyncMemory) -> None:
    (added,) = memory.add("I live in Oslo.", **INES)["results"]
    memory.update(added["id"], "Ines lives in Bergen.", metadata={"topic": "home"})
    found = memory.get(added["id"])
    assert found is not None
    assert (found["memory"], found["metadata"]) == ("Ines lives in Bergen.", {"topic": "home"})
    assert texts(memory.get_all(filters=INES)) == ["Ines lives in Bergen."]
    memory.delete(added["id"])
    events = [row["event"] for row in memory.history(added["id"])]
    assert events == ["ADD", "UPDATE", "DELETE"]
    assert behind.block(added["id"]).status == "archived"


def test_the_id_of_a_superseded_block_leads_to_the_current_one(
    memory: Memory, behind: SyncMemory
) -> None:
    first = behind.learn("Ines lives in Oslo.", scope={"user": "ines"}).block_id
    second = behind.revise(first, "Ines lives in Bergen.").block_id
    found = memory.get(first)
    assert found is not None
    assert (found["id"], found["memory"]) == (first, "Ines lives in Bergen.")
    assert [each["id"] for each in memory.get_all(filters=INES)["results"]] == [second]
    memory.update(second, "Ines lives in Turin.")
    rows = memory.history(first)
    assert [row["new_memory"] for row in rows] == [
        f"Ines lives in {city}." for city in ("Oslo", "Bergen", "Turin")
    ]


def test_what_was_imported_from_mem0_keeps_its_ids() -> None:
    source = Path(__file__).parents[2] / "fixtures" / "importers" / "mem0"
    (theirs,) = (
        each
        for each in json.loads((source / "get_all.json").read_text(encoding="utf-8"))["results"]
        if each["memory"] == "Ada lives in Hamburg."
    )
    store = MemoryStore()
    with OrderedChanges() as changes:
        changes.fill(kind_named("mem0").read(source, Options(mapping={})))
        clock = ImportClock(instant("first", changes.first), SystemClock())
        importing = SyncMemory.open(store, clock=clock, actor="import-mem0")
        import_changes(importing, changes, kind="mem0", clock=clock)
        importing.close()
    with SyncMemory.open(store, embedder=HashEmbedder()) as behind:
        memory = Memory(memory=behind)
        found = memory.get(theirs["id"])
        assert found is not None
        assert {name: found[name] for name in ("id", "memory", "user_id", "hash", "metadata")} == {
            name: theirs[name] for name in ("id", "memory", "user_id", "hash", "metadata")
        }
        ada = {"user_id": "ada"}
        assert theirs["id"] in [each["id"] for each in memory.get_all(filters=ada)["results"]]
        best = memory.search("Ada lives in Hamburg.", filters=ada, top_k=1)["results"]
        assert [each["id"] for each in best] == [theirs["id"]]
        memory.update(theirs["id"], "Ada lives in Kiel.")
        assert [row["new_memory"] for row in memory.history(theirs["id"])] == [
            f"Ada lives in {city}." for city in ("Berlin", "Hamburg", "Kiel")
        ]
        memory.delete(theirs["id"])
        assert memory.get(theirs["id"]) is None


def test_records_of_other_integrations_are_no_memories(memory: Memory, behind: SyncMemory) -> None:
    behind.add([{"role": "user", "content": "a message"}], scope={"user": "ines"})
    behind.learn("a value", category="data", scope={"user": "ines"})
    behind.learn("a lesson", scope={"user": "ines"})
    assert texts(memory.get_all(filters=INES)) == ["a lesson"]


@pytest.mark.parametrize("metadata", [None, {"at": "home", "since": "May", "topic": "x"}])
def test_a_text_that_a_field_has_too_changes_no_metadata(
    memory: Memory, metadata: dict[str, str] | None
) -> None:
    (added,) = memory.add("user", **INES, metadata=metadata, infer=False)["results"]
    found = memory.get(added["id"])
    assert found is not None
    assert (found["memory"], found["role"], found["metadata"]) == ("user", "user", metadata)


def test_one_call_of_add_is_one_transaction(memory: Memory, behind: SyncMemory) -> None:
    too_large = [{"role": "user", "content": "fits"}, {"role": "user", "content": "x" * 300_000}]
    with pytest.raises(Exception, match="content"):
        memory.add(too_large, **INES, infer=False)
    assert behind.blocks().items == ()


def test_the_async_memory_has_the_same_calls(behind: SyncMemory) -> None:
    memory = AsyncMemory(memory=behind)

    async def work() -> list[str]:
        async with memory:
            added = await asyncio.gather(
                *(memory.add(f"river {n}", user_id="ines", infer=False) for n in range(5))
            )
            await memory.update(added[0]["results"][0]["id"], text="lake")
            await memory.delete(added[1]["results"][0]["id"])
            assert (await memory.get(added[0]["results"][0]["id"]) or {})["memory"] == "lake"
            assert len(await memory.history(added[1]["results"][0]["id"])) == 2
            assert len((await memory.search("river", filters=INES))["results"]) >= 3
            found = texts(await memory.get_all(filters=INES))
            await memory.delete_all(user_id="ines")
            await memory.reset()
            return found

    assert sorted(asyncio.run(work())) == ["lake", "river 2", "river 3", "river 4"]
    for name in ("add", "search", "get", "get_all", "update", "delete", "delete_all", "history"):
        expected = inspect.signature(getattr(Memory, name))
        assert inspect.signature(getattr(AsyncMemory, name)) == expected


def test_a_configuration_of_mem0_names_file_and_space(tmp_path: Path) -> None:
    config = {
        "vector_store": {"provider": "faiss", "config": {"collection_name": "shop"}},
        "history_db_path": str(tmp_path / "new" / "history.db"),
    }
    with Memory.from_config(config) as memory:
        memory.add("I live in Oslo.", user_id="ines")
    assert [each.name for each in (tmp_path / "new").glob("*.db")] == ["history.mnemic.db"]
    with SyncMemory.open(tmp_path / "new" / "history.mnemic.db", space="shop") as behind:
        assert len(behind.blocks().items) == 2
    with Memory(config) as memory:
        assert texts(memory.get_all(filters=INES)) == ["I live in Oslo."]


def test_a_model_that_speaks_the_protocol_extracts_facts(
    caplog: pytest.LogCaptureFixture,
) -> None:
    settings = {"model": "qwen3:8b", "ollama_base_url": "http://127.0.0.1:1"}
    assert isinstance(extractor_of({"provider": "ollama", "config": settings}), ChatExtractor)
    with caplog.at_level(logging.WARNING, logger="mnemic.mem0"):
        assert extractor_of({"provider": "litellm", "config": {"model": "x"}}) is None
    assert "litellm" in caplog.text


def test_what_is_not_supported_says_so(memory: Memory) -> None:
    with pytest.raises(NotImplementedError, match="procedural"):
        memory.add("text", agent_id="helper", memory_type="procedural_memory", infer=False)
