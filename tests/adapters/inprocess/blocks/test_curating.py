"""curate: one sweep that archives, prunes, admits pending connections and reinforces the best."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import pytest

from mnemic.adapters.embedders.hashing import ScriptedEmbedder, with_cosine
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.system.clocks import ManualClock
from mnemic.kernel.model.identity import BlockId
from mnemic.kernel.policy import Policy
from mnemic.kernel.results import CurateResult

Open: TypeAlias = Callable[..., SyncMemory]

SIZE = 24
LONG: dict[str, Any] = {"idle_gap_hours": 1e6}
NOTHING = "Curated: nothing required."


def axis(place: int) -> tuple[float, ...]:
    return tuple(float(n == place) for n in range(SIZE))


APART = ScriptedEmbedder({"ask": axis(0), **{f"b{n}": axis(n) for n in range(SIZE)}}, SIZE)


def started(opened: Open, **policy: Any) -> SyncMemory:
    memory = opened(embedder=APART, policy=Policy(**{**LONG, **policy}))
    memory.start_session()
    return memory


def learn(memory: SyncMemory, count: int, first: int = 0, **lesson: Any) -> list[BlockId]:
    blocks = [memory.learn(f"b{n}", **lesson).block_id for n in range(first, first + count)]
    memory.consolidate()
    return blocks


def standing(memory: SyncMemory, blocks: list[BlockId]) -> list[str]:
    return [memory.block(block).archive_reason or memory.block(block).status for block in blocks]


# --- nothing to do ------------------------------------------------------------------------------


def test_an_empty_memory_requires_nothing_and_writes_nothing(memory: SyncMemory) -> None:
    before = memory.status()
    assert memory.curate() == CurateResult()
    assert str(memory.curate()) == NOTHING
    assert memory.status() == before


def test_a_second_sweep_at_the_same_hour_does_nothing(opened: Open, clock: ManualClock) -> None:
    memory = started(opened)
    blocks = learn(memory, 12)
    memory.outcome(blocks[:4], 0.6)
    clock.advance(hours=250)
    learn(memory, 3, first=12)
    assert str(memory.curate()) != NOTHING
    before = memory.status()
    again = memory.curate()
    assert (str(again), again.total_edges_after) == (NOTHING, before.edges)
    assert memory.status() == before


# --- blocks fade --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tags", "category", "kept", "gone"),
    [
        ((), "knowledge", 299.57, 299.58),
        ((), "observation", 59.91, 59.92),
        (("self/goal",), "knowledge", 2995.73, 2995.74),
        (("self/constitutional",), "knowledge", 300_000.0, None),
    ],
)
def test_blocks_are_archived_when_less_than_a_twentieth_is_left(
    opened: Open,
    clock: ManualClock,
    *,
    tags: tuple[str, ...],
    category: str,
    kept: float,
    gone: float | None,
) -> None:
    memory = started(opened, curate_reinforced=0)
    blocks = learn(memory, 1, tags=tags, category=category)
    clock.advance(hours=kept)
    assert memory.curate().archived == 0
    assert standing(memory, blocks) == ["active"]
    clock.advance(hours=(gone or 1e9) - kept)
    assert memory.curate().archived == (gone is not None)
    assert standing(memory, blocks) == ["active" if gone is None else "decayed"]


def test_reinforcement_restarts_decay(opened: Open, clock: ManualClock) -> None:
    memory = started(opened, curate_reinforced=0)
    used, idle = learn(memory, 2)
    clock.advance(hours=200)
    memory.outcome([used], 1.0)
    clock.advance(hours=150)
    memory.curate()
    assert standing(memory, [used, idle]) == ["active", "decayed"]


def test_nothing_fades_outside_of_sessions(opened: Open, clock: ManualClock) -> None:
    memory = started(opened, curate_reinforced=0)
    blocks = learn(memory, 2)
    memory.end_session()
    clock.advance(days=1000)
    assert str(memory.curate()) == NOTHING
    assert standing(memory, blocks) == ["active", "active"]


def test_expired_blocks_are_archived_constitutional_ones_too(
    opened: Open, clock: ManualClock
) -> None:
    memory = started(opened, curate_reinforced=0)
    (fact,) = learn(memory, 1, expires_at="2026-01-01T01:00:00Z")
    (law,) = learn(
        memory, 1, first=1, tags=["self/constitutional"], expires_at="2026-01-01T01:00:00Z"
    )
    clock.advance(hours=1, microseconds=-1)
    assert memory.curate().archived == 0
    clock.advance(microseconds=1)
    assert memory.curate().archived == 2
    assert standing(memory, [fact, law]) == ["expired", "expired"]


def test_edges_of_archived_blocks_count_neither_as_pruned_nor_as_decayed(
    opened: Open, clock: ManualClock
) -> None:
    memory = started(opened, curate_reinforced=0)
    gone, kept = learn(memory, 2)
    memory.connect(gone, kept, weight=0.05)
    clock.advance(hours=250)
    memory.outcome([kept], 1.0)
    clock.advance(hours=60)
    done = memory.curate()
    assert done == CurateResult(archived=1)
    assert memory.edges(kept) == ()


# --- edges fade ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("weight", "reinforced", "pruned"),
    [(0.09, False, True), (0.0, False, True), (0.10, False, False), (0.05, True, False)],
)
def test_weak_unused_edges_are_pruned_asserted_ones_too(
    opened: Open, weight: float, *, reinforced: bool, pruned: bool
) -> None:
    memory = started(opened, curate_reinforced=0)
    a, b = learn(memory, 2)
    memory.connect(a, b, weight=weight)
    if reinforced:
        memory.outcome([a, b], 1.0)
    done = memory.curate()
    assert (done.edges_pruned, done.total_edges_after) == (pruned, not pruned)
    assert len(memory.edges(a)) == (not pruned)


def test_found_edges_are_removed_when_less_than_a_tenth_is_left(
    opened: Open, clock: ManualClock
) -> None:
    memory = started(opened, curate_reinforced=0)
    a, b = learn(memory, 2)
    memory.outcome([a, b], 0.625)  # weight .50: ln 5 / .005 = 321.9 h
    clock.advance(hours=200)
    for block in (a, b):
        memory.outcome([block], 1.0)
    clock.advance(hours=121)
    assert memory.curate().edges_decayed == 0
    clock.advance(hours=1)
    assert memory.edges(a)[0].effective_weight < 0.1
    done = memory.curate()
    assert (done.edges_decayed, done.total_edges_after) == (1, 0)


def test_an_asserted_edge_never_decays(opened: Open, clock: ManualClock) -> None:
    memory = started(opened, curate_reinforced=0)
    a, b = learn(memory, 2, tags=["self/goal"])
    memory.connect(a, b, weight=0.1)
    clock.advance(hours=2900)
    assert memory.curate().edges_decayed == 0
    assert memory.edges(a)[0].effective_weight == 0.1


def test_the_longer_lasting_end_and_an_established_edge_halve_the_decay(
    opened: Open, clock: ManualClock
) -> None:
    memory = started(opened)
    a, b = learn(memory, 2)
    (law,) = learn(memory, 1, first=2, tags=["self/value"])
    memory.outcome([a, b], 1.0)
    memory.outcome([a, law], 1.0)
    for _ in range(9):
        memory.outcome([a, b], 1.0)
    clock.advance(hours=200)
    ten_less_one = next(edge for edge in memory.edges(b))
    assert ten_less_one.reinforcement_count == 9
    assert ten_less_one.effective_weight == pytest.approx(0.8 * 0.367879441, abs=1e-9)
    (lasting,) = memory.edges(law)
    assert lasting.effective_weight == pytest.approx(0.8 * 0.904837418, abs=1e-9)
    memory.outcome([a, b], 1.0)
    clock.advance(hours=200)
    (established,) = memory.edges(b)
    assert established.effective_weight == pytest.approx(0.8 * 0.606530660, abs=1e-9)


# --- pending connections ------------------------------------------------------------------------


def test_a_pending_connection_is_admitted_when_room_appears(
    opened: Open, clock: ManualClock
) -> None:
    memory = started(opened, degree_cap=2, curate_reinforced=0)
    hub, a, b, c, d = learn(memory, 5)
    memory.connect(hub, a)
    memory.connect(hub, b)
    memory.connect(c, hub, "supports", weight=0.8, note="at last")
    memory.connect(hub, d)
    assert str(memory.curate()) == NOTHING
    memory.disconnect(hub, a)
    clock.advance(hours=2)
    done = memory.curate()
    assert done == CurateResult(pending_admitted=1, total_edges_after=2)
    edge = next(edge for edge in memory.edges(hub) if c in {edge.source_id, edge.target_id})
    assert (edge.source_id, edge.target_id, edge.relation) == (c, hub, "supports")
    assert (edge.weight, edge.note, edge.origin, edge.anchor_hour) == (0.8, "at last", "agent", 2.0)
    assert [each.target_id for each in memory.pending_connections()] == [d]


def test_room_made_by_the_same_sweep_is_used(opened: Open, clock: ManualClock) -> None:
    memory = started(opened, degree_cap=1, curate_reinforced=0)
    hub, gone, waiting = learn(memory, 3)
    memory.connect(hub, gone)
    memory.connect(hub, waiting)
    clock.advance(hours=200)
    memory.outcome([hub], 1.0)
    memory.outcome([waiting], 1.0)
    clock.advance(hours=100)
    assert memory.curate() == CurateResult(archived=1, pending_admitted=1, total_edges_after=1)


def test_admission_displaces_nothing(opened: Open) -> None:
    said = {"hub": axis(0), "like": with_cosine(axis(0), 0.6, axis=1), "b5": axis(5), "b6": axis(6)}
    memory = opened(
        embedder=ScriptedEmbedder(said, SIZE), policy=Policy(degree_cap=1, curate_reinforced=0)
    )
    hub, like, far, other = (memory.learn(text).block_id for text in said)
    memory.consolidate()
    memory.connect(far, other, "supports")
    assert memory.connect(hub, far, "supports").action == "deferred"
    assert str(memory.curate()) == NOTHING
    assert len(memory.edges(like)) == 1


def test_a_pending_connection_replaces_an_edge_formed_meanwhile(opened: Open) -> None:
    memory = started(opened, degree_cap=1, curate_reinforced=0)
    hub, other, friend = learn(memory, 3)
    memory.connect(hub, other)
    memory.connect(hub, friend, "supports", note="I said so")
    memory.disconnect(hub, other)
    memory.outcome([hub, friend], 1.0)
    assert [edge.origin for edge in memory.edges(hub)] == ["outcome"]
    done = memory.curate()
    assert (done.pending_admitted, done.total_edges_after) == (1, 1)
    (edge,) = memory.edges(hub)
    assert (edge.relation, edge.origin, edge.note) == ("supports", "agent", "I said so")
    assert memory.status().edges == memory.block(hub).degree == 1
    assert memory.pending_connections() == ()


# --- reinforcement ------------------------------------------------------------------------------


def test_the_best_five_and_the_constitution_are_reinforced(
    opened: Open, clock: ManualClock
) -> None:
    memory = started(opened)
    blocks = learn(memory, 9)
    laws = learn(memory, 2, first=9, tags=["self/constitutional"])
    best = blocks[2:7]
    for block in best:
        memory.outcome([block], 1.0)
    clock.advance(hours=50)
    done = memory.curate()
    assert done == CurateResult(reinforced=5, constitutional_reinforced=2)
    hours = {block: memory.block(block).last_reinforced_hour for block in (*blocks, *laws)}
    assert hours == {block: 50.0 if block in {*best, *laws} else 0.0 for block in hours}
    assert {memory.block(block).reinforcements for block in laws} == {2}


def test_equal_blocks_are_reinforced_by_id(opened: Open, clock: ManualClock) -> None:
    memory = started(opened)
    blocks = learn(memory, 8)
    clock.advance(hours=1)
    memory.curate()
    held = [block for block in blocks if memory.block(block).last_reinforced_hour == 1.0]
    assert sorted(held) == sorted(blocks)[:5]


def test_nothing_is_reinforced_twice_at_one_hour(opened: Open, clock: ManualClock) -> None:
    memory = started(opened)
    a, b = learn(memory, 2)
    clock.advance(hours=1)
    memory.outcome([a], 1.0)
    assert memory.curate().reinforced == 1
    assert [memory.block(block).reinforcements for block in (a, b)] == [2, 2]


def test_a_block_archived_by_the_sweep_is_not_reinforced(opened: Open, clock: ManualClock) -> None:
    memory = started(opened)
    old = learn(memory, 3)
    clock.advance(hours=300)
    young = learn(memory, 2, first=3)
    clock.advance(hours=1)
    assert memory.curate() == CurateResult(archived=3, reinforced=2)
    assert standing(memory, [*old, *young]) == ["decayed"] * 3 + ["active"] * 2


# --- the result ---------------------------------------------------------------------------------


def swept(opened: Open, clock: ManualClock, *, worn: int, kept: int) -> CurateResult:
    """Let *worn* outcome edges decay next to *kept* asserted edges, and sweep."""
    memory = started(opened, curate_reinforced=0)
    tied = learn(memory, 2 * worn, tags=["self/goal"])
    answer = learn(memory, kept + 1, first=2 * worn, tags=["self/goal"])
    for n in range(worn):
        memory.outcome(tied[2 * n : 2 * n + 2], 0.55)
    for other in answer[1:]:
        memory.connect(answer[0], other)
    clock.advance(hours=2980)
    return memory.curate()


def test_a_few_worn_edges_bring_a_tip(opened: Open, clock: ManualClock) -> None:
    done = swept(opened, clock, worn=2, kept=6)
    assert (done.edges_decayed, done.total_edges_after) == (2, 6)
    assert "2 edges decayed (6 remain)" in str(done)
    assert "Tip: consolidate(relink=True)" in str(done)


def test_more_than_a_quarter_escalates(opened: Open, clock: ManualClock) -> None:
    done = swept(opened, clock, worn=3, kept=8)
    assert "3 edges decayed (8 remain)" in str(done)
    assert "Tip" not in str(done)
    assert "more than a quarter" in str(done)
    assert "consolidate(relink=True)" in str(done)
