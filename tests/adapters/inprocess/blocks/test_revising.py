"""revise: a new text replaces a block, which keeps its tags, evidence and edges."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import pytest

from mnemic.adapters.embedders.hashing import ScriptedEmbedder, with_cosine
from mnemic.adapters.inprocess import SyncMemory
from mnemic.kernel.errors import MnemicError
from mnemic.kernel.policy import Policy
from mnemic.kernel.results import Block, ReviseResult

Open: TypeAlias = Callable[..., SyncMemory]


def refused(call: Callable[[], object]) -> str:
    with pytest.raises(MnemicError) as caught:
        call()
    assert caught.value.recovery
    return caught.value.code


def axes(*texts: str) -> ScriptedEmbedder:
    """Every text has an axis of its own: no edge forms and nothing is superseded automatically."""
    size = len(texts)
    return ScriptedEmbedder(
        {text: tuple(float(n == place) for n in range(size)) for place, text in enumerate(texts)},
        size,
    )


def evidence(block: Block) -> tuple[float, float, int]:
    return block.evidence, block.usefulness, block.retrievals


def test_everything_but_the_text_is_inherited(memory: SyncMemory) -> None:
    old = memory.learn(
        "the limit is 30 requests",
        tags=["api", "limits"],
        category="fact",
        source="web",
        zone="vetted",
        author="Ann",
        thread="standup",
        confidence=0.3,
        metadata={"page": 4},
        created_at="2025-06-01",
        expires_at="2027-01-01",
    ).block_id
    memory.consolidate()
    revised = memory.revise(old, "the limit is 60 requests", "they raised it")
    new = revised.block_id
    assert revised == ReviseResult(
        block_id=new, superseded_id=old, edges_moved=0, edges_lost=(), version=5
    )
    assert memory.block(new) == Block(
        id=new,
        content="the limit is 60 requests",
        status="inbox",
        category="fact",
        tags=("api", "limits"),
        author="Ann",
        thread="standup",
        metadata={"page": 4},
        source="web",
        zone="vetted",
        actor="agent",
        confidence=0.3,
        created_at="2026-01-01T00:00:00+00:00",
        expires_at="2027-01-01T00:00:00+00:00",
        learned_version=5,
        said_version=5,
        last_reinforced_hour=0.0,
        decay_rate=0.0,
        recency=1.0,
        usefulness=0.5,
        evidence=0.0,
    )
    gone = memory.block(old)
    assert (gone.status, gone.archive_reason, gone.superseded_by) == ("archived", "superseded", new)
    assert (gone.content, gone.tags) == ("the limit is 30 requests", ("api", "limits"))
    assert memory.recall("limit requests", record=False).block_ids == (new,)
    assert memory.as_of(version=4).block(old).status == "active"


def test_tier_tags_keep_the_tier(memory: SyncMemory) -> None:
    old = memory.learn("never delete data", tags=["self/constitutional"]).block_id
    memory.consolidate()
    new = memory.revise(old, "never delete any data of a user").block_id
    memory.consolidate()
    assert memory.block(new).decay_rate == 1e-5
    assert memory.block(new).tags == ("self/constitutional",)


def test_evidence_and_retrievals_are_inherited_along_a_chain_of_revisions(opened: Open) -> None:
    memory = opened(embedder=axes("one", "two", "three"))
    block = memory.learn("one").block_id
    memory.recall("one")
    memory.outcome([block], 1.0)
    for words in ("two", "three"):
        block = memory.revise(block, words).block_id
        memory.recall(words)
        memory.outcome([block], 1.0)
    assert evidence(memory.block(block)) == (3.0, 0.875, 3)


def test_text_learned_again_does_not_count_its_evidence_twice(opened: Open) -> None:
    memory = opened(embedder=axes("one", "two"))
    one = memory.learn("one").block_id
    memory.recall("one")
    memory.outcome([one], 1.0)
    two = memory.revise(one, "two").block_id
    back = memory.revise(two, "one").block_id
    assert back == one
    assert memory.block(one).superseded_by is None
    assert memory.block(two).superseded_by == one
    assert evidence(memory.block(one)) == (1.0, 0.75, 1)
    memory.consolidate()
    assert evidence(memory.block(one)) == (1.0, 0.75, 1)


def test_text_that_supersedes_its_successor_does_not_count_evidence_twice(
    opened: Open,
) -> None:
    memory = opened(embedder=axes("one", "One!"))
    one = memory.learn("one").block_id
    memory.recall("one")
    memory.outcome([one], 1.0)
    other = memory.learn("One!").block_id
    memory.consolidate()
    assert (memory.block(one).superseded_by, evidence(memory.block(other))) == (
        other,
        (1.0, 0.75, 1),
    )
    memory.learn("one")
    memory.consolidate()
    assert (memory.block(other).superseded_by, evidence(memory.block(one))) == (
        one,
        (1.0, 0.75, 1),
    )


def test_agent_and_outcome_edges_move_and_similar_ones_do_not(opened: Open) -> None:
    base = (1.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    memory = opened(
        embedder=ScriptedEmbedder(
            {
                "old": base,
                "like": with_cosine(base, 0.7, axis=1),
                "told": (0.0, 0.0, 1.0, 0.0, 0.0, 0.0),
                "proven": (0.0, 0.0, 0.0, 1.0, 0.0, 0.0),
                "new": (0.0, 0.0, 0.0, 0.0, 1.0, 0.0),
            },
            6,
        )
    )
    old, like, told, proven = (
        memory.learn(text).block_id for text in ("old", "like", "told", "proven")
    )
    memory.consolidate()
    memory.connect(told, old, "supports", weight=0.9, note="because")
    memory.connect(told, old)
    memory.outcome([old, proven], 0.75)
    assert {edge.origin for edge in memory.edges(old)} == {"similarity", "agent", "outcome"}
    revised = memory.revise(old, "new")
    new = revised.block_id
    assert (revised.edges_moved, revised.edges_lost) == (2, ())
    assert [
        (edge.source_id, edge.target_id, edge.relation, edge.origin, edge.weight, edge.note)
        for edge in memory.edges(new)
    ] == [
        (told, new, "supports", "agent", 1.0, "because"),
        *(
            (edge.source_id, edge.target_id, "outcome", "outcome", 0.6, None)
            for edge in memory.edges(proven)
        ),
    ]
    assert memory.edges(new)[0].reinforcement_count == 1
    assert (memory.edges(old), memory.edges(like)) == ((), ())
    assert memory.status().edges == 2


def test_an_edge_that_the_successor_already_has_is_listed_as_lost(opened: Open) -> None:
    memory = opened(embedder=axes("old", "friend", "new"))
    old, friend, new = (memory.learn(text).block_id for text in ("old", "friend", "new"))
    memory.consolidate()
    memory.forget(new)
    memory.connect(old, friend, "supports")
    revised = memory.revise(old, "new")
    assert (revised.block_id, revised.edges_moved, revised.edges_lost) == (new, 1, ())
    back = memory.revise(new, "old")
    assert (back.block_id, back.edges_moved, back.edges_lost) == (old, 1, ())


def test_edges_beyond_the_cap_are_listed_as_lost(opened: Open) -> None:
    memory = opened(embedder=axes("old", "a", "b", "c", "new"), policy=Policy(degree_cap=2))
    old, a, b, c = (memory.learn(text).block_id for text in ("old", "a", "b", "c"))
    memory.consolidate()
    memory.connect(old, a)
    memory.connect(old, b)
    memory.adopt_policy(Policy(degree_cap=1, name="tighter"))
    revised = memory.revise(old, "new")
    assert (revised.edges_moved, revised.edges_lost) == (1, (b,))
    assert [edge.target_id for edge in memory.edges(revised.block_id)] == [a]
    assert memory.status().edges == 1
    assert memory.edges(c) == ()


def test_a_block_in_the_inbox_can_be_revised(opened: Open) -> None:
    memory = opened(embedder=axes("old", "new"))
    old = memory.learn("old").block_id
    new = memory.revise(old, "new").block_id
    assert (memory.consolidate().promoted, memory.status().archived) == (1, 1)
    assert memory.block(new).status == "active"


def test_an_invalid_revision_is_refused_and_leaves_no_trace(memory: SyncMemory) -> None:
    block, other = (memory.learn(text).block_id for text in ("alpha", "omega"))
    gone = memory.learn("gone").block_id
    memory.consolidate()
    memory.forget(gone)
    before = memory.status()
    assert refused(lambda: memory.revise("0" * 16, "new")) == "block-not-found"
    assert refused(lambda: memory.revise(gone, "new")) == "block-not-active"
    assert refused(lambda: memory.revise(block, " alpha ")) == "field-refused"
    assert refused(lambda: memory.revise(block, "omega\n")) == "field-refused"
    assert refused(lambda: memory.revise(block, "  ")) == "content-empty"
    assert refused(lambda: memory.revise(block, "w" * 200_001)) == "content-too-long"
    assert refused(lambda: memory.revise(block, "new", "r" * 501)) == "note-too-long"
    assert memory.status() == before
    assert memory.block(other).status == "active"
