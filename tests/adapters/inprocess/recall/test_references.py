"""deep_reference: weighed evidence, recorded once, without counting as a recall."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import Memory, SyncMemory
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.system.clocks import ManualClock
from mnemic.kernel.errors import CommandIdReused, CompositionNotFound, StoreFull
from mnemic.kernel.model.compositions import query_hash
from mnemic.kernel.policy import Policy
from mnemic.kernel.ports import Analysis, Log, Passage
from mnemic.kernel.results import DeepReference
from mnemic.kernel.timestamps import iso

Open: TypeAlias = Callable[..., SyncMemory]

USE = "Use FAISS for vector search in production, always."
AVOID = "Don't use FAISS for vector search in production."
QUESTION = "What about FAISS for vector search in production?"
GAUGE = "Gauge 17 resends after 60 seconds."


def disputed(memory: SyncMemory) -> tuple[str, str]:
    """Learn two contradicting memories, and an unrelated one."""
    use, avoid, _ = (memory.learn(text).block_id for text in (USE, AVOID, GAUGE))
    return use, avoid


# --- the answer ---------------------------------------------------------------------------------


def test_both_sides_of_a_contradiction_are_shown(memory: SyncMemory) -> None:
    use, avoid = disputed(memory)
    found = memory.deep_reference(QUESTION)
    (contradiction,) = found.contradictions
    assert (found.status, contradiction.kind) == ("contradictions_found", "negation")
    assert {contradiction.stronger.id, contradiction.weaker.id} == {use, avoid}
    assert {each.role for each in found.evidence} == {"primary", "contradicting"}
    assert found.summary.startswith("contradictions_found (")


def test_a_contradicts_edge_is_certain_and_brings_its_other_end(memory: SyncMemory) -> None:
    gauge, crane = memory.learn(GAUGE).block_id, memory.learn("The crane needs oil.").block_id
    memory.consolidate()
    memory.connect(crane, gauge, "contradicts", note="seen on site")
    found = memory.deep_reference("What does gauge 17 do?")
    assert [(each.kind, each.detail) for each in found.contradictions] == [("edge", "seen on site")]
    assert [(each.id, each.role) for each in found.evidence] == [
        (gauge, "primary"),
        (crane, "contradicting"),
    ]
    assert found.activation_expanded == 1


def test_a_supports_edge_brings_its_other_end(memory: SyncMemory) -> None:
    gauge, crane = memory.learn(GAUGE).block_id, memory.learn("The crane needs oil.").block_id
    memory.consolidate()
    memory.connect(crane, gauge, "supports")
    found = memory.deep_reference("What does gauge 17 do?")
    assert [(each.id, each.role) for each in found.evidence] == [
        (gauge, "primary"),
        (crane, "related"),
    ]
    assert (found.memories_analyzed, found.activation_expanded) == (2, 1)


def test_archived_blocks_are_no_evidence(memory: SyncMemory, clock: ManualClock) -> None:
    memory.learn(GAUGE, expires_at=iso(clock.now_us() + 60_000_000))
    memory.forget(memory.learn("Gauge 17 is grey.").block_id, "repainted")
    assert memory.deep_reference("What of gauge 17?").status == "resolved"
    clock.advance(minutes=2)
    assert memory.deep_reference("What of gauge 17?").status == "no_memories"


def test_changes_over_time_are_listed_from_old_to_new(
    memory: SyncMemory, clock: ManualClock
) -> None:
    for limit in (3, 5, 8):
        memory.learn(f"The retry limit of the exporter is {limit}.")
        clock.advance(days=1)
    found = memory.deep_reference("How has the retry limit of the exporter changed over time?")
    assert [each.preview[-2] for each in found.evolution] == ["3", "5", "8"]


def test_to_client_uses_the_older_tools_names(memory: SyncMemory) -> None:
    disputed(memory)
    document = memory.deep_reference(f"Is it true that we {USE[0].lower()}{USE[1:]}").to_client()
    assert list(document) == [
        "query",
        "intent",
        "status",
        "confidence",
        "reasoning",
        "guidance",
        "memoriesAnalyzed",
        "activationExpanded",
        "compositionWriteStatus",
        "recommended",
        "claim_conflicts",
        "evidence",
        "contradictions",
        "composition_event_id",
    ]
    assert (document["intent"], document["compositionWriteStatus"]) == ("FactCheck", "persisted")
    assert list(document["evidence"][0]) == [
        "id",
        "preview",
        "trust",
        "relevanceScore",
        "date",
        "role",
    ]
    assert list(document["recommended"]) == [
        "answer_preview",
        "memory_id",
        "trust_score",
        "date",
    ]
    assert list(document["contradictions"][0]) == ["stronger", "weaker", "topic_overlap"]


# --- the record ---------------------------------------------------------------------------------


def test_the_record_names_the_evidence_of_the_answer(memory: SyncMemory) -> None:
    disputed(memory)
    found = memory.deep_reference(f"  {QUESTION}")
    assert found.composition_id is not None
    recorded = memory.composition(found.composition_id)
    assert (recorded.tool, recorded.mode, recorded.consume) == (
        "deep_reference",
        "deep_reference",
        "none",
    )
    assert (recorded.query, recorded.query_hash) == (QUESTION, query_hash(f"  {QUESTION}"))
    assert (recorded.status, recorded.confidence) == (found.status, found.confidence)
    assert recorded.output_preview == found.guidance[:280]
    assert recorded.metadata == {
        "intent": "synthesis",
        "memoriesAnalyzed": 2,
        "activationExpanded": 0,
        "reasoningPreview": found.reasoning,
    }
    assert [(each.role, (each.metadata or {})["roleSource"]) for each in recorded.members] == [
        ("primary", "deep_reference_evidence"),
        ("contradicting", "deep_reference_evidence"),
        ("contradicting", "deep_reference_contradiction"),
    ]
    assert [each.rank for each in recorded.members] == [0, 1, 2]
    assert recorded.members[0].score == found.evidence[0].relevance
    assert recorded.members[0].trust == found.evidence[0].trust


def test_query_hashes_are_those_of_the_older_tool() -> None:
    assert query_hash("a") == "fnv1a64:af63dc4c8601ec8c"
    assert query_hash("foobar") == "fnv1a64:85944171f73967e8"


def test_deep_reference_does_not_count_as_a_recall(memory: SyncMemory) -> None:
    use, avoid = disputed(memory)
    memory.start_session()
    memory.consolidate()
    before = [memory.block(block) for block in (use, avoid)]
    memory.deep_reference(QUESTION)
    assert [memory.block(block) for block in (use, avoid)] == before
    assert (memory.status().decisions, memory.last_recall_block_ids) == (0, ())
    assert memory.log()[-1].kind == "blocks-composed"


def test_a_repeated_command_answers_as_before_and_writes_nothing(
    memory: SyncMemory, clock: ManualClock
) -> None:
    disputed(memory)
    first = memory.deep_reference(QUESTION, command_id="once")
    memory.learn("Use HNSW instead of FAISS for vector search in production.")
    memory.consolidate()
    clock.advance(days=40)
    version = memory.status().version
    assert memory.deep_reference(QUESTION, command_id="once") == first
    assert memory.status().version == version
    with pytest.raises(CommandIdReused):
        memory.deep_reference(GAUGE, command_id="once")


def test_without_a_record_nothing_is_written(memory: SyncMemory) -> None:
    disputed(memory)
    memory.consolidate()
    version = memory.status().version
    found = memory.deep_reference(QUESTION, record=False)
    assert (found.composition_id, found.composition_write_status) == (None, "not_recorded")
    assert memory.status().version == version


def test_a_read_only_memory_answers_too(opened: Open, path: Path) -> None:
    with opened(path) as memory:
        disputed(memory)
        memory.consolidate()
    found = opened(path, read_only=True).deep_reference(QUESTION)
    assert (found.status, found.composition_write_status) == (
        "contradictions_found",
        "not_recorded",
    )


class FullDiskStore(MemoryStore):
    """A store whose disk becomes full."""

    is_full = False

    def log(self, space: str, *, create: bool = True) -> Any:
        return _FullDiskLog(self, super().log(space, create=create))


class _FullDiskLog:
    def __init__(self, store: FullDiskStore, log: Log) -> None:
        self._store, self._log = store, log

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)

    def append(self, *given: Any, **named: Any) -> Any:
        if self._store.is_full:
            raise StoreFull("the disk is full")
        return self._log.append(*given, **named)


def test_the_answer_is_returned_even_if_the_record_cannot_be_written(opened: Open) -> None:
    store = FullDiskStore()
    memory = opened(store)
    disputed(memory)
    memory.consolidate()
    memory.learn("FAISS waits in the inbox.")
    store.is_full = True
    found = memory.deep_reference(QUESTION)
    assert (found.status, found.composition_write_status) == ("contradictions_found", "failed")
    assert memory.ledger() == ()


def test_the_answer_is_returned_even_if_the_policy_refuses_the_record(opened: Open) -> None:
    memory = opened(policy=Policy(metadata_bytes_max=10))
    disputed(memory)
    assert memory.deep_reference(QUESTION).composition_write_status == "failed"


def test_the_record_holds_no_text_of_an_erased_block(memory: SyncMemory) -> None:
    use, avoid = disputed(memory)
    found = memory.deep_reference("What of vector search?")
    assert found.composition_id is not None
    memory.erase(use)
    memory.erase(avoid)
    recorded = memory.composition(found.composition_id)
    assert "FAISS" not in str(recorded.to_dict())
    assert {each.block_id for each in recorded.members} == {use, avoid}


# --- the past -----------------------------------------------------------------------------------


def test_a_view_answers_as_the_memory_did_then(memory: SyncMemory, clock: ManualClock) -> None:
    disputed(memory)
    memory.consolidate()
    then = memory.deep_reference(QUESTION, record=False)
    version = memory.status().version
    memory.learn("FAISS is deprecated for vector search in production.")
    memory.consolidate()
    clock.advance(days=3)
    view = memory.as_of(version=version)
    assert view.deep_reference(QUESTION) == then
    assert len(memory.deep_reference(QUESTION).contradictions) > len(then.contradictions)


def test_later_labels_and_records_do_not_affect_the_past(memory: SyncMemory) -> None:
    disputed(memory)
    memory.consolidate()
    version = memory.status().version
    first = memory.deep_reference(QUESTION)
    assert first.composition_id is not None
    memory.label(first.composition_id, "helpful")
    with pytest.raises(CompositionNotFound):
        memory.as_of(version=version).composition(first.composition_id)


@pytest.mark.anyio
async def test_deep_reference_is_available_to_async_hosts(
    store: MemoryStore, clock: ManualClock
) -> None:
    async with Memory.open(store, embedder=HashEmbedder(), clock=clock) as memory:
        await memory.learn(GAUGE)
        found: DeepReference = await memory.deep_reference("What does gauge 17 do?", depth=5)
        view = await memory.as_of(version=found.version)
        again = await view.deep_reference("What does gauge 17 do?")
    assert (found.status, again.evidence) == ("resolved", found.evidence)


# --- an analyst that judges ---------------------------------------------------------------------


class Judge:
    """An analyst with the same verdict for every pair."""

    name = "judge"

    def __init__(self, opinions: Sequence[Any]) -> None:
        self.opinions = opinions
        self.asked: list[set[str]] = []

    def analyse(self, passages: Sequence[Passage]) -> list[Analysis | None]:
        return [None] * len(passages)

    def contradicts(self, pairs: Sequence[tuple[Passage, Passage]]) -> Iterable[Any]:
        self.asked += [{one.content, two.content} for one, two in pairs]
        yield from self.opinions


def test_an_analyst_overrules_the_rules(opened: Open) -> None:
    judge = Judge([False])
    memory = opened(analyst=judge)
    disputed(memory)
    found = memory.deep_reference(QUESTION, command_id="once")
    assert (found.contradictions, judge.asked) == ((), [{USE, AVOID}])
    assert memory.deep_reference(QUESTION, command_id="once") == found
    assert judge.asked == [{USE, AVOID}]


def test_an_analyst_finds_conflicts_that_no_rule_finds(opened: Open) -> None:
    memory = opened(analyst=Judge([True]))
    memory.learn("Gauge 17 stands beside the quarry.")
    memory.learn("Gauge 17 stands beside the river mill.")
    (found,) = memory.deep_reference("Where is gauge 17?").contradictions
    assert (found.kind, found.detail) == ("judged", "the analyst says so")


@pytest.mark.parametrize("opinions", [(), (None,), (True, True), ("yes",)])
def test_an_undecided_analyst_leaves_the_verdict_to_the_rules(
    opened: Open, opinions: tuple[Any, ...]
) -> None:
    memory = opened(analyst=Judge(opinions))
    disputed(memory)
    assert [each.kind for each in memory.deep_reference(QUESTION).contradictions] == ["negation"]


def test_an_analyst_that_cannot_judge_is_not_called(opened: Open) -> None:
    judge = Judge([True])
    memory = opened(analyst=judge)
    memory.learn(GAUGE)
    memory.learn("The crane needs oil.")
    memory.deep_reference("What does gauge 17 do?")
    assert judge.asked == []
