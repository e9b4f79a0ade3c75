"""Two recalled blocks contradict each other, or hold for different cases."""

from __future__ import annotations

from mnemic.adapters.inprocess import SyncMemory
from tests.scenarios.conftest import Learn

CACHE = "Always cache embeddings, since every call to the model costs money"
FRESH = "Never cache embeddings: a vector is stale as soon as its text is edited"
NOTES = "Meeting notes are kept for a year"
QUESTION = "should embeddings be cached"


def test_a_contradicting_block_is_shown_as_a_counterpoint_and_not_as_support(
    memory: SyncMemory, learn: Learn
) -> None:
    cache, fresh, _ = learn(memory, CACHE, FRESH, NOTES)
    assert [edge.relation for edge in memory.edges(cache)] == ["similar"]
    memory.connect(
        cache, fresh, "contradicts", note="settled texts against edited ones", if_exists="update"
    )
    answer = memory.recall(QUESTION, top_k=1)
    # The question cannot tell them apart, so the newer comes first.
    assert (answer.block_ids, [block.id for block in answer.counterpoints]) == ((fresh,), [cache])
    marked = f"[{cache[:8]}, 2026-01-01, earlier, contradicted by {fresh[:8]}] {CACHE}"
    assert marked in answer.text.splitlines()
    both = memory.recall(QUESTION, top_k=2)
    assert [block.was_expanded for block in both.blocks] == [False, False]
    assert {block.id for block in both.counterpoints} == {cache, fresh}


def test_a_contradicting_block_is_never_returned_as_a_neighbour(
    memory: SyncMemory, learn: Learn
) -> None:
    notes, cache = learn(memory, NOTES, CACHE)
    memory.connect(notes, cache, "contradicts")
    answer = memory.recall("how long are meeting notes kept", top_k=5)
    assert [block.id for block in answer.blocks if block.was_expanded] == []
    assert [block.id for block in answer.counterpoints if block.id == cache] == [cache]


def test_different_cases_get_a_relation_of_their_own_that_weighs_like_similar(
    memory: SyncMemory, learn: Learn
) -> None:
    few, many = learn(
        memory,
        "Five results are plenty when a task needs precision",
        "Ask for twenty results when you explore a new subject",
    )
    made = memory.connect(few, many, " Context_Partitioned ", note="precision, or exploration")
    assert (made.action, made.relation, made.weight) == ("created", "context_partitioned", 0.65)
    answer = memory.recall("how many results for a task that needs precision", top_k=2)
    assert (answer.block_ids, answer.counterpoints) == ((few, many), ())
    again = memory.connect(many, few, "CONTEXT_PARTITIONED")
    assert (again.action, again.weight, again.warnings) == ("reinforced", 0.75, ())
