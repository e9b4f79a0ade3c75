"""Frames: weights, eligible blocks and budgets over the same memory."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

import pytest
from attrs import evolve

from mnemic.adapters.embedders.hashing import ScriptedEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.system.clocks import ManualClock
from mnemic.kernel.errors import FrameUnknown
from mnemic.kernel.policy import FRAMES, Frame, Policy
from mnemic.kernel.results import ScoredBlock

Open: TypeAlias = Callable[..., SyncMemory]

SIZE = 16


def axis(place: int) -> tuple[float, ...]:
    return tuple(float(n == place) for n in range(SIZE))


APART = ScriptedEmbedder({"ask": axis(0), **{f"b{n}": axis(n) for n in range(SIZE)}}, SIZE)


def weights(block: ScoredBlock) -> dict[str, float]:
    return {part.signal: part.weight for part in block.contributions}


def contents(memory: SyncMemory, frame: str, query: str | None = None) -> set[str]:
    found = memory.recall(query, frame=frame, top_k=50, record=False)
    return {block.content for block in found.blocks}


def test_each_frame_weighs_its_own_signals(opened: Open) -> None:
    memory = opened(embedder=APART)
    memory.learn("b0", tags=["self/value"])
    (as_self,) = memory.recall("ask", frame="self", record=False).blocks
    assert weights(as_self) == {
        "relevance": 0.10,
        "recency": 0.05,
        "usefulness": 0.30,
        "centrality": 0.25,
        "reinforcement": 0.30,
    }
    (as_task,) = memory.recall("ask", frame="task", record=False).blocks
    assert weights(as_task) == dict.fromkeys(
        ("relevance", "recency", "usefulness", "centrality", "reinforcement"), 0.20
    )
    memory.learn("b1")
    (in_world,) = memory.recall(frame="world", record=False).blocks
    (in_attention, _) = memory.recall(frame="attention", record=False).blocks
    assert weights(in_world) == weights(in_attention)


@pytest.mark.parametrize(
    ("frame", "budget"),
    [("attention", 2000), ("self", 600), ("task", 800), ("short_term", 2000), ("world", 2000)],
)
def test_each_frame_has_its_budget(memory: SyncMemory, frame: str, budget: int) -> None:
    assert memory.recall(frame=frame, record=False).token_budget == budget


def test_frame_self_has_the_self_blocks_and_frame_world_all_others(opened: Open) -> None:
    memory = opened(embedder=APART)
    memory.learn("b0", tags=["self/value"])
    memory.learn("b1", tags=["self/constitutional", "x"])
    memory.learn("b2", tags=["selfish", "myself/x"])
    memory.learn("b3", tags=["self"])
    memory.learn("b4")
    assert contents(memory, "self") == {"b0", "b1"}
    assert contents(memory, "world") == {"b2", "b3", "b4"}
    assert contents(memory, "attention") == contents(memory, "task") == {f"b{n}" for n in range(5)}


def test_an_excluded_block_is_not_reached_by_edges_nor_listed_as_dropped(opened: Open) -> None:
    memory = opened(embedder=APART)
    hit = memory.learn("b0").block_id
    law = memory.learn("b1", tags=["self/constitutional"]).block_id
    memory.consolidate()
    memory.connect(hit, law)
    found = memory.recall("ask", frame="world", top_k=1, record=False)
    assert (found.block_ids, found.dropped) == ((hit,), ())


def test_constitutional_blocks_are_always_in_frame_self(opened: Open, clock: ManualClock) -> None:
    memory = opened(embedder=APART, policy=Policy(idle_gap_hours=1e6))
    memory.start_session()
    laws = [
        memory.learn(f"b{n}", tags=["self/constitutional"], created_at="1990-01-01").block_id
        for n in range(1, 8)
    ]
    memory.learn("b0", tags=["self/value"])
    memory.consolidate()
    clock.advance(hours=50_000)
    memory.learn("b9", tags=["self/value"])
    for query in ("ask", None):
        found = memory.recall(query, frame="self", record=False)
        assert set(found.block_ids) == set(laws)
        scores = [block.score for block in found.blocks]
        assert scores == sorted(scores, reverse=True)


def test_an_explicit_limit_applies_to_guaranteed_blocks_and_lists_the_dropped(
    opened: Open,
) -> None:
    memory = opened(embedder=APART)
    laws = [memory.learn(f"b{n}", tags=["self/constitutional"]).block_id for n in range(1, 8)]
    memory.learn("b0", tags=["self/goal"])
    found = memory.recall("ask", frame="self", top_k=3, record=False)
    assert len(found.blocks) == 3
    assert set(found.block_ids) <= set(laws)
    assert {each.reason for each in found.dropped} == {"top_k"}
    assert len(found.dropped) == 5


def test_a_better_block_does_not_displace_a_guaranteed_one(opened: Open) -> None:
    memory = opened(embedder=APART)
    law = memory.learn("b5", tags=["self/constitutional"], confidence=0.0).block_id
    best = memory.learn("b0", tags=["self/goal"]).block_id
    memory.consolidate()
    memory.outcome([best], 1.0)
    assert memory.recall("ask", frame="self", record=False).block_ids == (best, law)
    assert memory.recall("ask", frame="self", top_k=1, record=False).block_ids == (law,)


def test_task_recency_is_by_active_hours(opened: Open, clock: ManualClock) -> None:
    memory = opened(embedder=APART, policy=Policy(idle_gap_hours=1e6))
    memory.start_session()
    memory.learn("b0", created_at="1990-01-01")
    memory.consolidate()
    assert memory.recall("ask", frame="task", record=False).blocks[0].recency_score == 1.0
    clock.advance(hours=100)
    faded = memory.recall("ask", frame="task", record=False).blocks[0]
    assert faded.recency_score == pytest.approx(math.exp(-1.0), abs=1e-9)
    memory.end_session()
    clock.advance(days=400)
    assert memory.recall("ask", frame="task", record=False).blocks[0].recency_score == (
        faded.recency_score
    )


def test_centrality_is_the_share_of_the_greatest_weighted_degree(opened: Open) -> None:
    memory = opened(embedder=APART)
    a, b, c, d = (memory.learn(f"b{n}").block_id for n in range(4))
    memory.consolidate()
    memory.connect(a, b, weight=0.5)
    memory.connect(a, c, "contradicts", weight=0.3)
    memory.connect(a, c)  # .40 with one reinforcement
    found = {block.id: block for block in memory.recall(frame="task", record=False).blocks}
    pull = 0.4 + 0.1 * math.log(2)
    assert found[a].centrality_score == 1.0
    assert found[b].centrality_score == pytest.approx(0.5 / (0.5 + pull), abs=1e-8)
    assert found[c].centrality_score == pytest.approx(pull / (0.5 + pull), abs=1e-8)
    assert found[d].centrality_score == 0.0


def test_reinforcement_is_on_a_logarithmic_scale_of_the_candidates(opened: Open) -> None:
    memory = opened(embedder=APART)
    often, once = (memory.learn(f"b{n}").block_id for n in range(2))
    memory.consolidate()
    for _ in range(9):
        memory.outcome([often], 1.0)
    found = {block.id: block for block in memory.recall(frame="task", record=False).blocks}
    assert found[often].reinforcement_score == 1.0
    assert found[once].reinforcement_score == pytest.approx(math.log(2) / math.log(11), abs=1e-9)


# --- the short term -----------------------------------------------------------------------------


def test_the_short_term_is_the_open_session_and_then_the_latest(opened: Open) -> None:
    memory = opened(embedder=APART)
    memory.learn("b0")
    assert contents(memory, "short_term") == set()
    memory.start_session()
    memory.learn("b1")
    assert contents(memory, "short_term") == {"b1"}
    memory.end_session()
    memory.learn("b2")
    assert contents(memory, "short_term") == {"b1"}
    memory.start_session()
    assert contents(memory, "short_term") == set()
    memory.learn("b3")
    memory.learn("b0")
    assert contents(memory, "short_term") == {"b3"}


def test_the_short_term_leaves_out_the_session_of_a_dead_process(opened: Open) -> None:
    crashed = opened(embedder=APART)
    crashed.start_session()
    crashed.learn("b0")
    memory = opened(embedder=APART)
    assert contents(memory, "short_term") == {"b0"}
    memory.start_session()
    memory.learn("b1")
    found = memory.recall(frame="short_term")
    assert [block.content for block in found.blocks] == ["b1"]
    memory.end_session()
    assert contents(memory, "short_term") == {"b1"}
    assert memory.replay(str(found.decision_id)).outcome == "reproduced"


def test_each_agent_has_its_own_short_term_frame(opened: Open) -> None:
    ann, bob = opened(embedder=APART), opened(embedder=APART)
    ann.start_session()
    bob.start_session()
    ann.learn("b0")
    bob.learn("b1")
    decisions = [one.recall(frame="short_term") for one in (ann, bob)]
    assert [[block.content for block in found.blocks] for found in decisions] == [["b0"], ["b1"]]
    assert {ann.replay(str(found.decision_id)).outcome for found in decisions} == {"reproduced"}


# --- frames of one's own ------------------------------------------------------------------------


def test_a_policy_may_define_frames(opened: Open) -> None:
    careful = Frame(
        name="careful",
        confidence=1.0,
        only_tags=("checked",),
        never_tags=("draft",),
        always_tags=("law",),
        token_budget=100,
    )
    memory = opened(embedder=APART, policy=Policy(frames=(*FRAMES, careful)))
    memory.learn("b0", tags=["checked"], confidence=0.2)
    memory.learn("b1", tags=["checked"], confidence=0.9)
    memory.learn("b2", tags=["checked", "draft"])
    memory.learn("b3", tags=["law"])
    found = memory.recall(frame="careful", record=False)
    assert [(block.content, block.score) for block in found.blocks] == [("b1", 0.9), ("b0", 0.2)]
    assert found.token_budget == 100


def test_an_unknown_frame_is_refused_with_the_known_frames(memory: SyncMemory) -> None:
    with pytest.raises(FrameUnknown) as caught:
        memory.recall(frame="dreams")
    assert caught.value.facts["frames"] == memory.status().frames
    assert caught.value.code == "frame-unknown"
    assert caught.value.recovery


def test_a_frame_adopted_later_is_unknown_in_the_past(memory: SyncMemory) -> None:
    memory.learn("words")
    before = memory.status().version
    frames = tuple(evolve(frame, name=frame.name) for frame in FRAMES)
    own = Frame(name="own", confidence=1.0)
    memory.adopt_policy(Policy(name="with own", frames=(*frames, own)))
    assert len(memory.recall(frame="own").blocks) == 1
    with pytest.raises(FrameUnknown):
        memory.as_of(version=before).recall(frame="own")
