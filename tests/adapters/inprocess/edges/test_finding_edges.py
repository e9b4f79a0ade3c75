"""Similarity edges: neighbours found at promotion, their weights, and the cap."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import pytest

from mnemic.adapters.embedders.hashing import ScriptedEmbedder, with_cosine
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.system.clocks import ManualClock
from mnemic.kernel.policy import Policy
from mnemic.kernel.results import Edge

Open: TypeAlias = Callable[..., SyncMemory]

ROUNDING = 5e-4
"""What a cosine may move by when its vectors are stored."""
LONG_SESSIONS = Policy(idle_gap_hours=10_000.0)
SIZE = 16


def axis(place: int) -> tuple[float, ...]:
    return tuple(float(n == place) for n in range(SIZE))


HUB = axis(0)


def near_hub(place: int, cosine: float = 0.5) -> tuple[float, ...]:
    """Return a vector near the hub; two of them are near each other by the cosine squared."""
    return with_cosine(HUB, cosine, axis=place)


def pair(cosine: float) -> ScriptedEmbedder:
    return ScriptedEmbedder({"one": HUB, "two": near_hub(1, cosine)}, SIZE)


def spokes(count: int, cosine: float = 0.5) -> ScriptedEmbedder:
    """Return "hub" and "spoke 1" to "spoke N", which are near the hub and not near each other."""
    said = {f"spoke {n}": near_hub(n, cosine) for n in range(1, count + 1)}
    return ScriptedEmbedder({"hub": HUB, **said}, SIZE)


def others(edges: Sequence[Edge], block: str) -> list[str]:
    return [edge.target_id if edge.source_id == block else edge.source_id for edge in edges]


# --- the score ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cosine", "tags", "category", "idle_hours", "weight"),
    [
        (0.50, (), "knowledge", 0, 0.525),
        (0.62, (), "other", 0, 0.486),
        (0.62, (), "other", 100, None),
        (0.78, ("a", "b"), "knowledge", 0, 0.879),
        (0.78, ("a", "b"), "knowledge", 100, 0.779),
        (0.31, (), "knowledge", 0, 0.4205),
        (0.31, (), "knowledge", 100, None),
        (0.29, ("a", "b"), "knowledge", 0, None),
        (-0.5, ("a", "b"), "knowledge", 0, None),
        (0.60, ("a",), "knowledge", 0, 0.68),
        (0.46, (), "other", 0, None),
        (0.47, (), "other", 0, 0.4035),
        (0.60, (), "knowledge", 8, 0.540653),
    ],
)
def test_an_edge_forms_from_its_threshold_on_and_its_weight_is_its_score(
    opened: Open,
    clock: ManualClock,
    *,
    cosine: float,
    tags: tuple[str, ...],
    category: str,
    idle_hours: float,
    weight: float | None,
) -> None:
    memory = opened(embedder=pair(cosine), policy=LONG_SESSIONS)
    memory.start_session()
    one = memory.learn("one", tags=("a", "b") if tags else ()).block_id
    memory.consolidate()
    clock.advance(hours=idle_hours)
    two = memory.learn("two", tags=tags, category=category).block_id
    done = memory.consolidate()
    assert done.edges_created == len(memory.edges(one)) == (weight is not None)
    for edge in memory.edges(one):
        assert {edge.source_id, edge.target_id} == {one, two}
        assert (edge.relation, edge.origin, edge.anchor_hour) == (
            "similar",
            "similarity",
            idle_hours,
        )
        assert edge.weight == pytest.approx(weight, abs=ROUNDING)
        assert edge.effective_weight == edge.weight
        assert (edge.reinforcement_count, edge.note) == (0, None)


def test_two_blocks_of_one_batch_are_near_in_time_at_any_hour(
    opened: Open, clock: ManualClock
) -> None:
    memory = opened(embedder=pair(0.6), policy=LONG_SESSIONS)
    memory.start_session()
    clock.advance(hours=500)
    one = memory.learn("one").block_id
    memory.learn("two")
    memory.consolidate()
    (edge,) = memory.edges(one)
    assert edge.weight == pytest.approx(0.58, abs=ROUNDING)


def test_time_counts_from_the_last_reinforcement(opened: Open, clock: ManualClock) -> None:
    memory = opened(embedder=pair(0.6), policy=LONG_SESSIONS)
    memory.start_session()
    one = memory.learn("one").block_id
    memory.consolidate()
    clock.advance(hours=200)
    memory.outcome([one], 1.0)
    memory.learn("two")
    memory.consolidate()
    assert memory.edges(one)[0].weight == pytest.approx(0.58, abs=ROUNDING)


# --- candidates ---------------------------------------------------------------------------------


def test_a_new_block_keeps_its_best_five_ties_by_id(opened: Open) -> None:
    memory = opened(embedder=spokes(8))
    blocks = [memory.learn(f"spoke {n}").block_id for n in range(1, 9)]
    memory.consolidate()
    hub = memory.learn("hub").block_id
    assert memory.consolidate().edges_created == 5
    assert sorted(others(memory.edges(hub), hub)) == sorted(blocks)[:5]


def test_the_best_come_before_the_lower_ids(opened: Open) -> None:
    said = {f"spoke {n}": near_hub(n, 0.50 + n / 100) for n in range(1, 9)}
    memory = opened(embedder=ScriptedEmbedder({"hub": HUB, **said}, SIZE))
    blocks = [memory.learn(f"spoke {n}").block_id for n in range(1, 9)]
    memory.consolidate()
    hub = memory.learn("hub").block_id
    memory.consolidate()
    assert others(memory.edges(hub), hub) == blocks[:2:-1]


def test_an_existing_edge_is_left_unchanged(opened: Open, clock: ManualClock) -> None:
    memory = opened(embedder=pair(0.6), policy=LONG_SESSIONS)
    memory.start_session()
    one, two = (memory.learn(text).block_id for text in ("one", "two"))
    memory.connect(two, one, "contradicts", weight=0.5, note="they differ")
    before = memory.edges(one)
    clock.advance(hours=3)
    assert memory.consolidate().edges_created == 0
    assert memory.consolidate(relink=True).edges_created == 0
    assert memory.edges(one) == before
    assert before[0].anchor_hour == 0.0


def test_blocks_in_the_inbox_and_in_the_archive_are_no_candidates(opened: Open) -> None:
    memory = opened(embedder=spokes(3))
    gone, waiting = (memory.learn(text).block_id for text in ("spoke 1", "hub"))
    memory.consolidate(limit=1)
    memory.forget(gone)
    memory.learn("spoke 2")
    assert memory.consolidate(limit=1).edges_created == 0
    assert memory.edges(waiting) == ()


def test_reported_edges_are_stored_edges(opened: Open) -> None:
    memory = opened(embedder=spokes(9, cosine=0.8))  # all near each other by .64
    for n in range(1, 10):
        memory.learn(f"spoke {n}")
    memory.learn("hub")
    done = memory.consolidate()
    blocks = [block.id for block in memory.blocks().items]
    assert done.edges_created == memory.status().edges
    assert done.edges_created == sum(len(memory.edges(block)) for block in blocks) / 2
    assert all(memory.block(block).degree == len(memory.edges(block)) for block in blocks)


# --- the cap ------------------------------------------------------------------------------------


def test_no_hub_grows_beyond_the_cap(opened: Open) -> None:
    memory = opened(embedder=spokes(14))
    hub = memory.learn("hub").block_id
    memory.consolidate()
    formed = []
    for n in range(1, 15):
        memory.learn(f"spoke {n}")
        formed.append(memory.consolidate().edges_created)
    assert formed == [1] * 10 + [0] * 4
    assert len(memory.edges(hub)) == memory.block(hub).degree == 10


def test_no_hub_grows_beyond_the_cap_within_one_batch(opened: Open) -> None:
    memory = opened(embedder=spokes(14))
    hub = memory.learn("hub").block_id
    for n in range(1, 15):
        memory.learn(f"spoke {n}")
    assert memory.consolidate().edges_created == 10
    assert len(memory.edges(hub)) == 10


def test_an_automatic_edge_displaces_nothing(opened: Open) -> None:
    memory = opened(embedder=spokes(3), policy=Policy(degree_cap=2))
    hub, first, second = (memory.learn(text).block_id for text in ("hub", "spoke 1", "spoke 2"))
    memory.consolidate()
    before = memory.edges(hub)
    third = memory.learn("spoke 3").block_id
    assert memory.consolidate().edges_created == 0
    assert memory.edges(hub) == before
    assert sorted(others(before, hub)) == sorted([first, second])
    assert memory.edges(third) == ()


# --- relink -------------------------------------------------------------------------------------


def test_relinking_finds_edges_for_active_blocks_that_have_few(opened: Open) -> None:
    memory = opened(embedder=spokes(4), policy=Policy(edge_threshold=0.9))
    blocks = [memory.learn(text).block_id for text in ("hub", "spoke 1", "spoke 2", "spoke 3")]
    memory.consolidate()
    assert memory.status().edges == 0
    memory.adopt_policy(Policy(name="easier"))
    assert memory.consolidate().edges_created == 0
    done = memory.consolidate(relink=True)
    assert (done.promoted, done.edges_created, memory.status().edges) == (0, 3, 3)
    assert sorted(others(memory.edges(blocks[0]), blocks[0])) == sorted(blocks[1:])
    version = memory.status().version
    assert memory.consolidate(relink=True).edges_created == 0
    assert memory.status().version == version


def test_relinking_promotes_waiting_blocks_first(opened: Open) -> None:
    memory = opened(embedder=spokes(1))
    memory.learn("hub")
    memory.learn("spoke 1")
    done = memory.consolidate(relink=True)
    assert (done.promoted, done.edges_created) == (2, 1)


def test_relinking_forms_no_edge_for_a_disconnected_pair(opened: Open) -> None:
    memory = opened(embedder=spokes(1))
    hub, spoke = (memory.learn(text).block_id for text in ("hub", "spoke 1"))
    memory.consolidate()
    memory.disconnect(hub, spoke)
    assert memory.consolidate(relink=True).edges_created == 0
    assert memory.edges(hub) == ()


def test_a_disconnected_pair_stays_barred_when_a_block_is_reactivated(opened: Open) -> None:
    memory = opened(embedder=spokes(1))
    hub, spoke = (memory.learn(text).block_id for text in ("hub", "spoke 1"))
    memory.consolidate()
    memory.disconnect(hub, spoke)
    memory.forget(spoke)
    memory.learn("spoke 1")
    assert memory.consolidate().edges_created == 0
    memory.connect(hub, spoke)
    memory.forget(spoke)
    memory.learn("spoke 1")
    assert memory.consolidate().edges_created == 1  # connected once more: no longer barred


def test_inherited_tags_count_for_the_edges_of_the_successor(opened: Open) -> None:
    said = {"old": HUB, "Old.": with_cosine(HUB, 0.99, axis=1), "other": near_hub(2, 0.35)}
    memory = opened(embedder=ScriptedEmbedder(said, SIZE))
    memory.learn("other", tags=["ops"], category="plan")
    memory.learn("old", tags=["ops"])
    memory.consolidate()
    new = memory.learn("Old.").block_id
    memory.consolidate()
    assert memory.block(new).tags == ("ops",)
    (edge,) = memory.edges(new)
    # .55 cosine, all tags, another category, one session.
    assert edge.weight == pytest.approx(0.55 * 0.99 * 0.35 + 0.20 + 0.045 + 0.10, abs=ROUNDING)
