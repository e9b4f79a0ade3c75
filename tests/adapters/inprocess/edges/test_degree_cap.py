"""The degree cap: edges displaced by asserted ones, connections deferred until there is room."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from mnemic.adapters.embedders.hashing import ScriptedEmbedder, with_cosine
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.system.clocks import ManualClock
from mnemic.kernel.model.identity import BlockId
from mnemic.kernel.policy import Policy
from mnemic.kernel.results import DisplacedEdge, Edge

Open: TypeAlias = Callable[..., SyncMemory]

SIZE = 24


def axis(place: int) -> tuple[float, ...]:
    return tuple(float(n == place) for n in range(SIZE))


APART = ScriptedEmbedder({f"b{n}": axis(n) for n in range(SIZE)}, SIZE)


def ends(memory: SyncMemory, block: str) -> set[tuple[str, str, str]]:
    return {(edge.source_id, edge.target_id, edge.relation) for edge in memory.edges(block)}


def capped(opened: Open, clock: ManualClock) -> tuple[SyncMemory, list[BlockId]]:
    """Return a memory with a cap of two, in a session, with ten blocks."""
    memory = opened(embedder=APART, policy=Policy(degree_cap=2, idle_gap_hours=10_000.0))
    memory.start_session()
    clock.advance(hours=1)
    blocks = [memory.learn(f"b{n}").block_id for n in range(10)]
    memory.consolidate()
    return memory, blocks


def test_at_full_ends_the_weakest_found_edge_of_each_is_displaced(opened: Open) -> None:
    corner = {f"near {n}": with_cosine(axis(0), 0.45 + n / 20, axis=n) for n in (1, 2)}
    other = {f"far {n}": with_cosine(axis(9), 0.45 + n / 20, axis=9 + n) for n in (1, 2)}
    said = {"hub": axis(0), "rim": axis(9), **corner, **other}
    memory = opened(embedder=ScriptedEmbedder(said, SIZE), policy=Policy(degree_cap=2))
    ids = {text: memory.learn(text).block_id for text in said}
    memory.consolidate()
    weakest = {
        end: min(memory.edges(ids[end]), key=lambda edge: edge.weight) for end in ("hub", "rim")
    }
    assert [len(memory.edges(ids[end])) for end in ("hub", "rim")] == [2, 2]
    made = memory.connect(ids["rim"], ids["hub"], "supports")
    displaced = tuple(
        DisplacedEdge(
            from_id=min(edge.source_id, edge.target_id),
            to_id=max(edge.source_id, edge.target_id),
            relation="similar",
            weight=edge.weight,
        )
        for edge in (weakest["rim"], weakest["hub"])
    )
    assert (made.action, made.displaced_edges, made.displaced_edge) == (
        "created",
        displaced,
        displaced[0],
    )
    assert "isplaced" in str(made)
    assert [len(memory.edges(ids[end])) for end in ("hub", "rim")] == [2, 2]
    assert (memory.edges(ids["near 1"]), memory.edges(ids["far 1"])) == ((), ())


def test_the_weakest_edge_is_the_one_with_the_lowest_effective_weight(
    opened: Open, clock: ManualClock
) -> None:
    said = {
        "hub": axis(0),
        "old": with_cosine(axis(0), 0.6, axis=1),
        "young": with_cosine(axis(0), 0.55, axis=2),
        "new": axis(5),
    }
    policy = Policy(degree_cap=2, idle_gap_hours=10_000.0)
    memory = opened(embedder=ScriptedEmbedder(said, SIZE), policy=policy)
    memory.start_session()
    hub, old = (memory.learn(text).block_id for text in ("hub", "old"))
    memory.consolidate()
    clock.advance(hours=150)
    memory.outcome([hub], 1.0)
    young, new = (memory.learn(text).block_id for text in ("young", "new"))
    memory.consolidate()
    heavier, lighter = memory.edges(hub)[::-1]
    assert {heavier.source_id, heavier.target_id} == {hub, old}
    assert heavier.weight > lighter.weight
    assert heavier.effective_weight < lighter.effective_weight
    made = memory.connect(hub, new, "supports")
    assert [{edge.from_id, edge.to_id} for edge in made.displaced_edges] == [{hub, old}]
    assert memory.edges(old) == ()
    assert len(memory.edges(young)) == 1


def test_asserted_edges_are_never_displaced_and_the_new_one_is_deferred(
    opened: Open, clock: ManualClock
) -> None:
    memory, (hub, a, b, c, d, *_) = capped(opened, clock)
    memory.connect(hub, a, "similar")
    memory.connect(hub, b, "co_occurs")
    deferred = memory.connect(hub, c, "supports", weight=0.7, note="in time")
    assert (deferred.action, deferred.relation, deferred.weight) == ("deferred", "supports", 0.7)
    assert deferred.deferred_note
    assert deferred.displaced_edges == ()
    assert (memory.status().edges, memory.status().pending_connections) == (2, 1)
    assert memory.pending_connections() == (
        Edge(
            source_id=hub,
            target_id=c,
            relation="supports",
            weight=0.7,
            effective_weight=0.0,
            origin="agent",
            note="in time",
        ),
    )
    assert (
        memory.connect(c, d).action == "created"
    )  # a pending connection does not count for the cap
    assert memory.block(c).degree == 1


def test_an_outcome_edge_is_never_displaced(opened: Open, clock: ManualClock) -> None:
    memory, (hub, a, b, c, *_) = capped(opened, clock)
    memory.outcome([hub, a], 1.0)
    memory.outcome([hub, b], 1.0)
    assert memory.connect(hub, c, "supports").action == "deferred"
    assert len(memory.edges(hub)) == 2


def test_nothing_is_displaced_when_the_other_end_has_no_room(opened: Open) -> None:
    said = {"hub": axis(0), "like": with_cosine(axis(0), 0.6, axis=1)}
    said |= {f"b{n}": axis(n) for n in (5, 6)}
    memory = opened(embedder=ScriptedEmbedder(said, SIZE), policy=Policy(degree_cap=1))
    hub, like, b, c = (memory.learn(text).block_id for text in said)
    memory.consolidate()
    memory.connect(b, c, "supports")
    assert memory.connect(hub, b, "supports").action == "deferred"
    assert ends(memory, hub) == ends(memory, like)
    assert len(memory.edges(hub)) == 1


def test_deferrals_and_disconnections_are_in_the_history_of_both_ends(
    opened: Open, clock: ManualClock
) -> None:
    memory, (hub, a, b, c, *_) = capped(opened, clock)
    memory.connect(hub, a)
    memory.connect(hub, b)
    memory.connect(hub, c)
    memory.disconnect(hub, c)
    for end in (hub, c):
        kinds = [moment.kind for moment in memory.history(of=end)]
        assert kinds[-2:] == ["edge-deferred", "edge-disconnected"]


def test_connecting_again_replaces_a_pending_connection(opened: Open, clock: ManualClock) -> None:
    memory, (hub, a, b, c, d, *_) = capped(opened, clock)
    memory.connect(hub, a)
    memory.connect(hub, b)
    memory.connect(hub, c, "supports", note="first")
    memory.connect(hub, d)
    assert memory.connect(c, hub, "elaborates", weight=0.5).action == "deferred"
    assert [
        (edge.source_id, edge.target_id, edge.relation, edge.weight, edge.note)
        for edge in memory.pending_connections()
    ] == [(hub, d, "similar", 0.65, None), (c, hub, "elaborates", 0.5, None)]


def test_connecting_again_when_there_is_room_creates_the_edge(
    opened: Open, clock: ManualClock
) -> None:
    memory, (hub, a, b, c, *_) = capped(opened, clock)
    memory.connect(hub, a)
    memory.connect(hub, b)
    memory.connect(hub, c)
    memory.disconnect(hub, a)
    assert memory.connect(hub, c, "supports").action == "created"
    assert memory.pending_connections() == ()


def test_disconnecting_cancels_a_pending_connection_unless_guarded(
    opened: Open, clock: ManualClock
) -> None:
    memory, (hub, a, b, c, *_) = capped(opened, clock)
    memory.connect(hub, a)
    memory.connect(hub, b)
    memory.connect(hub, c, "supports")
    assert memory.disconnect(hub, c, guard_relation="similar").action == "guarded"
    assert memory.status().pending_connections == 1
    cancelled = memory.disconnect(c, hub, guard_relation="supports")
    assert (cancelled.action, cancelled.removed_relation, cancelled.removed_weight) == (
        "removed",
        None,
        None,
    )
    assert memory.status().pending_connections == 0
    assert memory.disconnect(hub, c).action == "not_found"


def test_a_pending_connection_is_dropped_with_its_end(opened: Open, clock: ManualClock) -> None:
    memory, (hub, a, b, c, *_) = capped(opened, clock)
    memory.connect(hub, a)
    memory.connect(hub, b)
    memory.connect(hub, c)
    memory.forget(c)
    assert memory.pending_connections() == ()
    memory.disconnect(hub, a)
    memory.curate()
    assert len(memory.edges(hub)) == 1


def test_a_lowered_cap_removes_nothing_and_no_edge_forms_at_a_full_end(opened: Open) -> None:
    said = {"hub": axis(0), "new": axis(9)}
    said |= {f"near {n}": with_cosine(axis(0), 0.5, axis=n) for n in (1, 2, 3)}
    memory = opened(embedder=ScriptedEmbedder(said, SIZE))
    hub, new, *near = (memory.learn(text).block_id for text in said)
    memory.consolidate()
    memory.adopt_policy(Policy(degree_cap=2, name="tighter"))
    before = memory.edges(hub)
    assert len(before) == 3
    assert memory.connect(hub, new, "supports").action == "deferred"
    assert memory.edges(hub) == before
    memory.disconnect(hub, near[0])
    made = memory.connect(hub, new, "supports")
    assert (made.action, len(made.displaced_edges)) == ("created", 1)
    assert len(memory.edges(hub)) == 2


def test_many_pending_connections_raise_an_alert(opened: Open) -> None:
    size = 60
    said = {f"b{n}": tuple(float(n == place) for place in range(size)) for n in range(size)}
    memory = opened(embedder=ScriptedEmbedder(said, size), policy=Policy(degree_cap=1))
    blocks = [memory.learn(text).block_id for text in said]
    memory.consolidate()
    for other in blocks[1:52]:
        memory.connect(blocks[0], other)
    assert (memory.status().pending_connections, memory.status().alerts) == (50, ())
    memory.connect(blocks[0], blocks[52])
    assert (memory.status().pending_connections, len(memory.status().alerts)) == (51, 1)
