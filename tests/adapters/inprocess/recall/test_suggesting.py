"""recall(suggest=True): suggested connections, their reasons and confidence."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import pytest

from mnemic.adapters.embedders.hashing import ScriptedEmbedder, with_cosine
from mnemic.adapters.inprocess import Memory, SyncMemory
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.system.clocks import ManualClock
from mnemic.adapters.system.entropy import SeededEntropy
from mnemic.kernel.errors import FieldRefused
from mnemic.kernel.policy import Frame, Policy
from mnemic.kernel.results import Origin, RecallResult, SuggestedConnection

OURS = Origin(zone="trusted", source="api", actor="agent")

Open: TypeAlias = Callable[..., SyncMemory]

SIZE = 8
NO_EDGES = Policy(edge_candidates=0)
"""Blocks that are alike stay without an edge, as when one came long after the other."""


def axis(place: int) -> tuple[float, ...]:
    return tuple(float(n == place) for n in range(SIZE))


SCRIPT = {
    "humility": axis(0),
    "uncertainty": axis(1),
    "doubt": with_cosine(axis(0), 0.9, axis=2),
    "modesty": with_cosine(axis(0), 0.85, axis=3),
    "pride": with_cosine(axis(0), 0.8, axis=4),
    "calm": axis(5),
    "long " * 60: axis(6),
}
EMBEDDER = ScriptedEmbedder(SCRIPT, SIZE)


@pytest.fixture
def memory(opened: Open) -> SyncMemory:
    return opened(embedder=EMBEDDER, policy=NO_EDGES)


def learned(memory: SyncMemory, *names: str) -> list[str]:
    """Learn and promote blocks outside of any session, and return their ids."""
    blocks = [str(memory.learn(name).block_id) for name in names]
    memory.consolidate()
    return blocks


def together(memory: SyncMemory, times: int = 1) -> None:
    """Return all blocks together, each time in a session of its own."""
    for _ in range(times):
        with memory.session():
            memory.recall()


def ends(found: RecallResult) -> list[tuple[set[str], str, float]]:
    return [
        ({each.source_id, each.target_id}, each.suggested_relation, each.confidence)
        for each in found.suggested_connections
    ]


def test_nothing_is_suggested_by_default(memory: SyncMemory) -> None:
    learned(memory, "humility", "doubt")
    together(memory, 2)
    assert memory.recall().suggested_connections == ()


# --- one session short --------------------------------------------------------------------------


def test_a_pair_one_session_short_of_an_edge_is_suggested(memory: SyncMemory) -> None:
    a, b = learned(memory, "humility", "uncertainty")
    together(memory)
    assert memory.recall(suggest=True).suggested_connections == ()
    together(memory)
    found = memory.recall("humility", top_k=1, suggest=True)
    assert found.block_ids == (a,)
    assert found.suggested_connections == (
        SuggestedConnection(
            source_id=a,  # type: ignore[arg-type]
            target_id=b,  # type: ignore[arg-type]
            source_content="humility",
            target_content="uncertainty",
            source_origin=OURS,
            target_origin=OURS,
            reason="returned together in 2 sessions without an edge; one more makes an edge by "
            "itself",
            suggested_relation="co_occurs",
            confidence=0.666666667,
        ),
    )


def test_a_recorded_recall_suggests_on_the_state_that_it_leaves(memory: SyncMemory) -> None:
    a, b = learned(memory, "humility", "uncertainty")
    together(memory)
    with memory.session():
        assert ends(memory.recall(suggest=True)) == [({a, b}, "co_occurs", 0.666666667)]
    with memory.session():
        assert ends(memory.recall(suggest=True)) == []
    assert [edge.relation for edge in memory.edges(a)] == ["co_occurs"]


def test_a_connected_pair_is_no_longer_suggested(memory: SyncMemory) -> None:
    learned(memory, "humility", "uncertainty")
    together(memory, 2)
    (idea,) = memory.recall(suggest=True).suggested_connections
    memory.connect(idea.source_id, idea.target_id, "supports", note="one is the way to the other")
    assert memory.recall(suggest=True).suggested_connections == ()


# --- alike --------------------------------------------------------------------------------------


def test_blocks_that_are_alike_without_an_edge_are_suggested_the_surest_first(
    memory: SyncMemory,
) -> None:
    a, doubt, modesty, _ = learned(memory, "humility", "doubt", "modesty", "calm")
    found = memory.recall("humility", top_k=1, record=False, suggest=True)
    assert [(each.target_id, each.reason) for each in found.suggested_connections] == [
        (doubt, "a cosine of 0.90 without an edge"),
        (modesty, "a cosine of 0.85 without an edge"),
    ]
    assert {each.source_id for each in found.suggested_connections} == {a}
    assert [each.confidence for each in found.suggested_connections] == pytest.approx(
        [0.9, 0.85], abs=1e-3
    )


def test_a_cosine_that_just_reaches_the_threshold_is_not_enough(opened: Open) -> None:
    def asked(threshold: float) -> RecallResult:
        policy = Policy(edge_candidates=0, suggest_cosine=threshold)
        memory = opened(MemoryStore(), embedder=EMBEDDER, policy=policy)
        learned(memory, "humility", "pride")
        return memory.recall(suggest=True)

    (idea,) = asked(0.5).suggested_connections
    assert asked(idea.confidence).suggested_connections == ()
    assert len(asked(idea.confidence - 1e-9).suggested_connections) == 1


def test_at_least_one_end_was_returned(memory: SyncMemory) -> None:
    learned(memory, "humility", "doubt", "calm")
    found = memory.recall("calm", top_k=1, suggest=True)
    assert (len(found.block_ids), found.suggested_connections) == (1, ())


# --- frames -------------------------------------------------------------------------------------


def test_staged_blocks_that_different_frames_return_are_suggested(opened: Open) -> None:
    frames = (*Policy().frames, Frame(name="work", recency=1.0, only_tags=("work",)))
    memory = opened(embedder=EMBEDDER, policy=Policy(edge_candidates=0, frames=frames))
    a = memory.learn("humility", tags=["work"]).block_id
    b = memory.learn("uncertainty").block_id
    together(memory)
    assert memory.recall(suggest=True, record=False).suggested_connections == ()
    for _ in range(2):
        memory.recall(frame="work")
    found = memory.recall(suggest=True, record=False)
    assert ends(found) == [({a, b}, "co_occurs", 0.333333333)]
    assert {
        "mostly returned by answer and by work, yet together in 1 session",
        "mostly returned by work and by answer, yet together in 1 session",
    } >= {each.reason for each in found.suggested_connections}


def test_blocks_that_share_a_most_frequent_frame_do_not_differ(opened: Open) -> None:
    frames = (*Policy().frames, Frame(name="work", recency=1.0, only_tags=("work",)))
    memory = opened(embedder=EMBEDDER, policy=Policy(edge_candidates=0, frames=frames))
    memory.learn("humility", tags=["work"])
    memory.learn("uncertainty")
    together(memory)
    memory.recall(frame="work")
    assert memory.recall(suggest=True, record=False).suggested_connections == ()


# --- exclusions and limits ----------------------------------------------------------------------


def test_a_pair_with_several_reasons_is_suggested_once(memory: SyncMemory) -> None:
    a, b = learned(memory, "humility", "doubt")
    together(memory, 2)
    (idea,) = memory.recall(suggest=True).suggested_connections
    assert ({idea.source_id, idea.target_id}, idea.suggested_relation) == ({a, b}, "similar")


def test_a_disconnected_pair_is_not_suggested(memory: SyncMemory) -> None:
    a, b = learned(memory, "humility", "doubt")
    memory.connect(a, b)
    memory.disconnect(a, b)
    together(memory, 2)
    assert memory.recall(suggest=True).suggested_connections == ()


def test_a_pending_pair_is_not_suggested(opened: Open) -> None:
    memory = opened(embedder=EMBEDDER, policy=Policy(edge_candidates=0, degree_cap=1))
    a, b, c = learned(memory, "humility", "doubt", "calm")
    memory.connect(a, c, "supports")
    assert memory.connect(a, b, "supports").action == "deferred"
    assert memory.recall(suggest=True).suggested_connections == ()


def test_neither_archived_nor_expired_blocks_are_suggested(
    opened: Open, clock: ManualClock
) -> None:
    memory = opened(embedder=EMBEDDER, policy=NO_EDGES)
    memory.learn("humility")
    memory.learn("modesty", expires_at="2026-01-02")
    (gone,) = learned(memory, "doubt")
    memory.forget(gone)
    clock.advance(days=40)
    assert memory.recall(suggest=True).suggested_connections == ()


def test_the_policy_limits_the_number_of_suggestions(opened: Open) -> None:
    few = opened(embedder=EMBEDDER, policy=Policy(edge_candidates=0, suggestions_max=2))
    names = ("humility", "doubt", "modesty", "uncertainty", "calm")
    learned(few, *names)
    together(few, 2)
    usual = opened(MemoryStore(), embedder=EMBEDDER, policy=NO_EDGES)
    learned(usual, *names)
    together(usual, 2)
    first, second = (memory.recall(suggest=True) for memory in (few, usual))
    assert [len(found.suggested_connections) for found in (first, second)] == [2, 3]
    sure = [each.confidence for each in second.suggested_connections]
    assert sure == sorted(sure, reverse=True)


# --- texts --------------------------------------------------------------------------------------


def test_a_suggestion_has_a_one_line_summary(memory: SyncMemory) -> None:
    a, b = learned(memory, "humility", "uncertainty")
    together(memory, 2)
    (idea,) = memory.recall("humility", top_k=1, suggest=True).suggested_connections
    assert idea.summary == (
        f'{a[:8]} "humility" and {b[:8]} "uncertainty": returned together in 2 sessions '
        "without an edge; one more makes an edge by itself. "
        "Suggested relation: co_occurs. Confidence: 0.67"
    )
    assert str(idea) == idea.summary
    assert idea.to_dict()["confidence"] == 0.666666667


def test_a_long_block_is_shown_by_its_beginning(memory: SyncMemory) -> None:
    learned(memory, "humility", "long " * 60)
    together(memory, 2)
    (idea,) = memory.recall("humility", top_k=1, suggest=True).suggested_connections
    assert len(idea.target_content) <= 120
    assert idea.target_content.startswith("long long")
    assert idea.target_content.endswith("long…")


# --- records, repetitions, the past -------------------------------------------------------------


def test_suggestions_change_neither_the_record_nor_the_digest(opened: Open) -> None:
    digests = []
    for suggest in (False, True):
        entropy = SeededEntropy("one and the same")
        memory = opened(MemoryStore(), embedder=EMBEDDER, policy=NO_EDGES, entropy=entropy)
        learned(memory, "humility", "doubt")
        found = memory.recall(suggest=suggest)
        assert found.decision_id is not None
        assert memory.replay(found.decision_id).outcome == "reproduced"
        digests.append(found.digest)
    assert digests[0] == digests[1]


def test_a_repeated_command_gets_the_same_suggestions(memory: SyncMemory) -> None:
    a, b = learned(memory, "humility", "uncertainty")
    together(memory)
    with memory.session():
        first = memory.recall(suggest=True, command_id="once")
    assert ends(first) == [({a, b}, "co_occurs", 0.666666667)]
    assert memory.recall(suggest=True, command_id="once") == first
    memory.connect(a, b)
    assert memory.recall(suggest=True, command_id="once") == first


def test_a_view_of_the_past_suggests_from_the_state_then(memory: SyncMemory) -> None:
    a, b = learned(memory, "humility", "uncertainty")
    together(memory, 2)
    then = memory.status().version
    before = memory.recall(suggest=True, record=False)
    together(memory)
    assert ends(memory.as_of(version=then).recall(suggest=True)) == ends(before)
    assert ends(before) == [({a, b}, "co_occurs", 0.666666667)]


def test_suggest_must_be_a_boolean(memory: SyncMemory) -> None:
    with pytest.raises(FieldRefused) as caught:
        memory.recall(suggest="yes")  # type: ignore[arg-type]
    assert caught.value.code == "field-refused"


@pytest.mark.anyio
async def test_suggestions_are_the_same_for_async_hosts(store: MemoryStore) -> None:
    clock = ManualClock()
    async with Memory.open(store, embedder=EMBEDDER, policy=NO_EDGES, clock=clock) as memory:
        for name in ("humility", "doubt"):
            await memory.learn(name)
        found = await memory.recall(suggest=True)
        view = await memory.as_of(version=found.version)
        assert (await view.recall(suggest=True)).suggested_connections == (
            found.suggested_connections
        )
    assert len(found.suggested_connections) == 1
