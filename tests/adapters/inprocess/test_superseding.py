"""Near-duplicates: what takes another's place, what is only noted, and what goes along."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import pytest

from mnemic.adapters.embedders.hashing import ScriptedEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.kernel.identity import BlockId
from mnemic.kernel.policy import Policy
from mnemic.kernel.results import ConsolidateResult

Open: TypeAlias = Callable[..., SyncMemory]

# Stored vectors whose cosine is what the key says, to the nano-unit.
EXACTLY: Mapping[str, tuple[Sequence[float], Sequence[float]]] = {
    "0.950000000": ((3749, 661, 1148, 842), (3414, -97, 2109, 638)),
    "0.949999999": ((3846, 932, 907, 189), (3500, 1928, 342, 659)),
    "0.900000000": ((3923, 502, 231, 905), (3640, 1484, 942, -419)),
    "0.899999999": ((3799, 815, 1052, 559), (3166, 2430, 761, 101)),
}


def at(degrees: float) -> tuple[float, ...]:
    """Return a direction in a plane; the cosine of two is that of the angle between them."""
    return (math.cos(math.radians(degrees)), math.sin(math.radians(degrees)), 0.0)


def script(**angles: float) -> ScriptedEmbedder:
    return ScriptedEmbedder({text: at(angle) for text, angle in angles.items()}, 3)


def learn(memory: SyncMemory, *texts: str, category: str = "knowledge") -> list[BlockId]:
    return [memory.learn(text, category=category).block_id for text in texts]


def standing(memory: SyncMemory, blocks: Sequence[str]) -> list[tuple[str, str | None]]:
    found = [memory.block(block) for block in blocks]
    return [(block.status, block.superseded_by) for block in found]


def noted(memory: SyncMemory) -> list[tuple[str, str, float]]:
    return [(new.id, old.id, cosine) for new, old, cosine in memory.near_duplicates()]


@pytest.mark.parametrize("cosine", EXACTLY)
def test_the_bands_of_near_duplicates_begin_at_their_very_edge(opened: Open, cosine: str) -> None:
    first, second = EXACTLY[cosine]
    memory = opened(embedder=ScriptedEmbedder({"old": first, "new": second}, 4))
    old, new = learn(memory, "old", "new")
    done = memory.consolidate()
    superseded = cosine == "0.950000000"
    pair = cosine in {"0.949999999", "0.900000000"}
    assert (done.promoted, done.superseded, done.near_duplicates) == (2, superseded, pair)
    assert noted(memory) == ([(new, old, float(cosine))] if pair else [])
    assert memory.status().near_duplicates == pair
    assert standing(memory, [old, new]) == [
        ("archived", new) if superseded else ("active", None),
        ("active", None),
    ]


@pytest.mark.parametrize(("first", "second"), [("message", "message"), ("message", "fact")])
@pytest.mark.parametrize("turned", [False, True])
def test_messages_are_exempt_whichever_comes_first(
    opened: Open, first: str, second: str, *, turned: bool
) -> None:
    memory = opened(embedder=script(old=0, new=0))
    categories = (second, first) if turned else (first, second)
    for text, category in zip(("old", "new"), categories, strict=True):
        memory.learn(text, category=category)
    done = memory.consolidate()
    assert (done.superseded, done.near_duplicates, memory.status().active) == (0, 0, 2)


def test_a_constitutional_block_is_never_superseded_by_itself(opened: Open) -> None:
    memory = opened(embedder=script(law=0, same=0))
    law = memory.learn("law", tags=["self/constitutional"]).block_id
    same = memory.learn("same").block_id
    done = memory.consolidate()
    assert (done.superseded, done.near_duplicates) == (0, 1)
    assert noted(memory) == [(same, law, 1.0)]
    assert standing(memory, [law, same]) == [("active", None), ("active", None)]


def test_behind_a_constitutional_best_match_nothing_is_superseded(opened: Open) -> None:
    memory = opened(embedder=script(law=0, rule=24, new=8))
    law = memory.learn("law", tags=["self/constitutional"]).block_id
    rule, new = learn(memory, "rule", "new")
    assert memory.consolidate().superseded == 0
    assert [pair[:2] for pair in noted(memory)] == [(rule, law), (new, law), (new, rule)]


def test_only_the_best_match_is_superseded_and_the_others_are_noted(opened: Open) -> None:
    memory = opened(embedder=script(close=8, closer=-14, new=0))
    close, closer, new = learn(memory, "close", "closer", "new")
    done = memory.consolidate()
    assert (done.superseded, done.near_duplicates) == (1, 2)
    assert standing(memory, [close, closer, new]) == [
        ("archived", new),
        ("active", None),
        ("active", None),
    ]
    assert [pair[:2] for pair in noted(memory)] == [(new, closer)]


def test_of_two_equal_matches_the_one_with_the_lower_id_goes(opened: Open) -> None:
    memory = opened(embedder=script(left=11, right=-11, new=0))
    left, right, new = learn(memory, "left", "right", "new")
    memory.consolidate()
    gone, kept = sorted([left, right])
    assert standing(memory, [gone, kept]) == [("archived", new), ("active", None)]


def test_a_storm_of_one_thought_leaves_the_last_word(opened: Open) -> None:
    memory = opened(embedder=script(a=0, b=0, c=0, d=0))
    blocks = learn(memory, "a", "b", "c", "d")
    done = memory.consolidate()
    assert (done.promoted, done.superseded, done.inbox_remaining) == (4, 3, 0)
    assert standing(memory, blocks) == [
        *(("archived", successor) for successor in blocks[1:]),
        ("active", None),
    ]
    assert memory.recall("d", record=False).block_ids == (blocks[-1],)


def test_a_pair_is_recorded_once_and_shown_while_both_stand(opened: Open) -> None:
    memory = opened(embedder=script(one=0, two=20, far=90))
    one, two = learn(memory, "one", "two")
    memory.consolidate()
    assert [pair[:2] for pair in noted(memory)] == [(two, one)]
    memory.forget(one)
    assert (noted(memory), memory.status().near_duplicates) == ([], 0)
    memory.learn("one")
    memory.consolidate()
    assert len(noted(memory)) == 1


def test_evidence_retrievals_and_tags_go_on_in_the_successor(opened: Open) -> None:
    memory = opened(embedder=script(old=0, new=1))
    old = memory.learn("old", tags=["self/goal", "ops"]).block_id
    memory.recall("old")
    memory.recall("old")
    memory.outcome([old], 1.0, weight=2.0)
    memory.outcome([old], 0.0)
    new = memory.learn("new", tags=["fresh"], confidence=0.4).block_id
    memory.consolidate()
    block = memory.block(new)
    assert (block.evidence, block.usefulness, block.retrievals) == (3.0, 0.625, 2)
    assert block.tags == ("fresh", "ops", "self/goal")
    assert (block.confidence, block.reinforcements) == (0.4, 1)
    assert block.decay_rate == 0.001  # the tag it took over makes it durable


def test_agent_and_outcome_edges_move_and_found_ones_go(opened: Open) -> None:
    memory = opened(embedder=script(old=0, new=2, near=45, told=90, proven=180))
    old, near, told, proven = learn(memory, "old", "near", "told", "proven")
    memory.consolidate()
    memory.connect(told, old, "supports", weight=0.9, note="he said so")
    memory.outcome([old, proven], 1.0)
    assert sorted(edge.origin for edge in memory.edges(old)) == ["agent", "outcome", "similarity"]
    (new,) = learn(memory, "new")
    done = memory.consolidate()
    assert (done.superseded, done.edges_created) == (1, 1)  # new finds near by itself
    assert memory.edges(old) == ()
    moved = {edge.origin: edge for edge in memory.edges(new)}
    agent, outcome = moved["agent"], moved["outcome"]
    assert (agent.source_id, agent.target_id, agent.note) == (told, new, "he said so")
    assert (agent.relation, agent.weight) == ("supports", 0.9)
    assert {outcome.source_id, outcome.target_id} == {new, proven}
    assert {moved["similarity"].source_id, moved["similarity"].target_id} == {new, near}
    assert memory.status().edges == len(memory.edges(near)) + 2


def test_an_edge_to_the_successor_itself_goes_and_its_other_edges_stay(opened: Open) -> None:
    memory = opened(embedder=script(old=0, new=2, other=90))
    old, other = learn(memory, "old", "other")
    memory.consolidate()
    (new,) = learn(memory, "new")
    memory.connect(new, old, "elaborates")  # while it still waits
    memory.connect(new, other, "supports")
    memory.connect(old, other, "contradicts")
    memory.consolidate()
    assert memory.block(old).superseded_by == new
    assert [(edge.relation, edge.source_id, edge.target_id) for edge in memory.edges(new)] == [
        ("supports", new, other)
    ]
    assert memory.status().edges == 1


def test_edges_that_find_no_room_on_the_successor_are_dropped_and_the_cap_holds(
    opened: Open,
) -> None:
    angles = {"old": 0.0, "new": 1.0, "a": 90.0, "b": 180.0, "c": 270.0}
    memory = opened(embedder=script(**angles), policy=Policy(degree_cap=2))
    old, a, b, c = learn(memory, "old", "a", "b", "c")
    memory.consolidate()
    memory.connect(old, a)
    memory.connect(old, b)
    (new,) = learn(memory, "new")
    memory.connect(new, c)
    memory.consolidate()
    assert {edge.target_id for edge in memory.edges(new)} == {c, a}
    assert (memory.edges(b), memory.status().edges) == ((), 2)


def test_connections_that_wait_for_a_superseded_block_are_dropped(opened: Open) -> None:
    memory = opened(embedder=script(old=0, new=1, a=90, b=180), policy=Policy(degree_cap=1))
    old, a, b = learn(memory, "old", "a", "b")
    memory.consolidate()
    memory.connect(old, a)
    assert memory.connect(old, b).action == "deferred"
    learn(memory, "new")
    memory.consolidate()
    assert (memory.pending_connections(), memory.status().pending_connections) == ((), 0)


def test_the_past_still_shows_the_superseded_block(opened: Open) -> None:
    memory = opened(embedder=script(old=0, new=1))
    (old,) = learn(memory, "old")
    memory.consolidate()
    before = memory.status().version
    learn(memory, "new")
    assert memory.consolidate() == ConsolidateResult(promoted=1, superseded=1, chunks=1)
    view = memory.as_of(version=before)
    assert standing_at(view.block(old).status, view.block(old).superseded_by)
    assert view.recall("old").block_ids == (old,)


def standing_at(status: str, successor: str | None) -> bool:
    return (status, successor) == ("active", None)
