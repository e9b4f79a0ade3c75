"""connect and disconnect: asserted, refused, removed and deferred edges."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import pytest

from mnemic.adapters.embedders.hashing import ScriptedEmbedder, with_cosine
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.system.clocks import ManualClock
from mnemic.kernel.errors import MnemicError
from mnemic.kernel.model.identity import BlockId
from mnemic.kernel.policy import Policy
from mnemic.kernel.results import ConnectResult, DisconnectResult, Edge

Open: TypeAlias = Callable[..., SyncMemory]

SIZE = 24
LONG_SESSIONS = Policy(idle_gap_hours=10_000.0)


def axis(place: int) -> tuple[float, ...]:
    return tuple(float(n == place) for n in range(SIZE))


APART = ScriptedEmbedder({f"b{n}": axis(n) for n in range(SIZE)}, SIZE)


def refused(call: Callable[[], object]) -> str:
    with pytest.raises(MnemicError) as caught:
        call()
    assert caught.value.recovery
    return caught.value.code


def active(memory: SyncMemory, count: int) -> list[BlockId]:
    """Learn and promote blocks that have nothing in common."""
    blocks = [memory.learn(f"b{n}").block_id for n in range(count)]
    memory.consolidate()
    return blocks


def ends(memory: SyncMemory, block: str) -> set[tuple[str, str, str]]:
    return {(edge.source_id, edge.target_id, edge.relation) for edge in memory.edges(block)}


@pytest.fixture
def memory(opened: Open) -> SyncMemory:
    return opened(embedder=APART, policy=LONG_SESSIONS)


# --- a new edge ---------------------------------------------------------------------------------


def test_a_connection_is_stored_as_asserted(memory: SyncMemory, clock: ManualClock) -> None:
    a, b = active(memory, 2)
    memory.start_session()
    clock.advance(hours=2)
    made = memory.connect(b, a, "supports", weight=0.7, note=" the log shows it ")
    assert made == ConnectResult(
        source_id=b,
        target_id=a,
        relation="supports",
        weight=0.7,
        action="created",
        note="the log shows it",
    )
    stored = Edge(
        source_id=b,
        target_id=a,
        relation="supports",
        weight=0.7,
        effective_weight=0.7,
        origin="agent",
        anchor_hour=2.0,
        note="the log shows it",
    )
    assert memory.edges(a) == memory.edges(b) == (stored,)


@pytest.mark.parametrize(
    ("given", "stored", "weight"),
    [
        (None, "similar", 0.65),
        ("", "similar", 0.65),
        ("similar", "similar", 0.65),
        ("co_occurs", "co_occurs", 0.55),
        ("elaborates", "elaborates", 0.70),
        ("  SUPPORTS ", "supports", 0.75),
        ("Contradicts", "contradicts", 0.60),
        ("outcome", "outcome", 0.80),
        (" Caused By ", "caused by", 0.65),
    ],
)
def test_relations_are_trimmed_and_lower_cased_and_have_default_weights(
    memory: SyncMemory, given: str | None, stored: str, weight: float
) -> None:
    a, b = active(memory, 2)
    made = memory.connect(a, b, given)
    assert (made.relation, made.weight, made.warnings) == (stored, weight, ())
    assert [(edge.relation, edge.weight) for edge in memory.edges(a)] == [(stored, weight)]


@pytest.mark.parametrize(
    ("relation", "weight", "warned"),
    [
        ("supports", 0.50, False),
        ("supports", 0.49, True),
        ("supports", 1.0, False),
        ("contradicts", 0.86, True),
        ("custom", 0.39, True),
        (None, 0.0, True),
    ],
)
def test_a_weight_far_from_the_usual_is_accepted_with_a_warning(
    memory: SyncMemory, relation: str | None, weight: float, *, warned: bool
) -> None:
    a, b = active(memory, 2)
    made = memory.connect(a, b, relation, weight=weight)
    assert (made.action, made.weight, len(made.warnings)) == ("created", weight, warned)


def test_it_works_without_a_session_and_on_blocks_in_the_inbox(opened: Open) -> None:
    memory = opened(embedder=APART, policy=Policy(auto_consolidate=False))
    a, b = (memory.learn(text).block_id for text in ("b0", "b1"))
    assert memory.connect(a, b).action == "created"
    assert (memory.block(a).degree, memory.status().edges) == (1, 1)
    memory.consolidate()
    assert ends(memory, a) == {(a, b, "similar")}


def test_an_edge_takes_no_part_in_recall_until_both_ends_are_active(opened: Open) -> None:
    memory = opened(embedder=APART, policy=Policy(auto_consolidate=False))
    a, b, c = active(memory, 3)
    waiting = memory.learn("b3").block_id
    memory.connect(a, b, weight=0.5)
    memory.connect(c, waiting, weight=1.0)
    asked = memory.recall("b2", record=False)
    assert waiting not in asked.block_ids
    task = {
        block.id: block.centrality_score
        for block in memory.recall(frame="task", record=False).blocks
    }
    assert task == {a: 1.0, b: 1.0, c: 0.0}
    memory.consolidate()
    assert {
        block.id: block.centrality_score
        for block in memory.recall(frame="task", record=False).blocks
    } == {a: 0.5, b: 0.5, c: 1.0, waiting: 1.0}


# --- an existing edge ---------------------------------------------------------------------------


def test_reinforcing_counts_strengthens_and_refreshes_and_keeps_the_rest(
    memory: SyncMemory, clock: ManualClock
) -> None:
    a, b = active(memory, 2)
    memory.start_session()
    memory.connect(a, b, "supports", weight=0.85, note="first")
    clock.advance(hours=5)
    again = memory.connect(b, a, "contradicts", weight=0.1, note="second")
    assert (again.action, again.relation, again.weight) == ("reinforced", "supports", 0.95)
    assert len(again.warnings) == 3
    assert memory.connect(a, b, "supports").weight == 1.0
    last = memory.connect(a, b)
    assert (last.weight, last.warnings) == (1.0, ())
    (edge,) = memory.edges(a)
    assert (edge.source_id, edge.target_id, edge.relation) == (a, b, "supports")
    assert (edge.weight, edge.reinforcement_count, edge.note) == (1.0, 3, "first")
    assert (edge.anchor_hour, edge.origin) == (5.0, "agent")


def test_reinforcing_keeps_the_origin_of_a_found_edge(opened: Open) -> None:
    said = {"one": axis(0), "two": with_cosine(axis(0), 0.6, axis=1)}
    memory = opened(embedder=ScriptedEmbedder(said, SIZE))
    one, two = (memory.learn(text).block_id for text in said)
    memory.consolidate()
    before = memory.edges(one)[0]
    memory.connect(two, one)
    after = memory.edges(one)[0]
    assert (after.origin, after.reinforcement_count) == ("similarity", 1)
    assert after.weight == pytest.approx(before.weight + 0.1, abs=1e-9)
    assert (after.source_id, after.target_id) == (before.source_id, before.target_id)


@pytest.mark.parametrize(
    ("given", "relation", "weight", "note"),
    [
        ({}, "supports", 0.8, "why"),
        ({"note": "better"}, "supports", 0.8, "better"),
        ({"weight": 0.9}, "supports", 0.9, "why"),
        ({"relation": "Elaborates"}, "elaborates", 0.8, "why"),
        ({"relation": "x", "weight": 0.2, "note": "n"}, "x", 0.2, "n"),
    ],
)
def test_updating_replaces_what_is_given_and_the_direction(
    memory: SyncMemory,
    clock: ManualClock,
    *,
    given: dict[str, Any],
    relation: str,
    weight: float,
    note: str,
) -> None:
    a, b = active(memory, 2)
    memory.start_session()
    memory.connect(a, b, "supports", weight=0.7, note="why")
    memory.connect(a, b)
    clock.advance(hours=1)
    changed = memory.connect(b, a, if_exists="update", **given)
    assert (changed.action, changed.relation, changed.weight) == ("updated", relation, weight)
    (edge,) = memory.edges(a)
    assert (edge.source_id, edge.target_id) == (b, a)
    assert (edge.relation, edge.weight, edge.note) == (relation, weight, note)
    assert (edge.anchor_hour, edge.reinforcement_count, edge.origin) == (1.0, 1, "agent")


def test_updating_a_found_edge_makes_it_asserted(opened: Open) -> None:
    said = {"one": axis(0), "two": with_cosine(axis(0), 0.6, axis=1)}
    memory = opened(embedder=ScriptedEmbedder(said, SIZE))
    one, two = (memory.learn(text).block_id for text in said)
    memory.consolidate()
    memory.connect(one, two, note="mine", if_exists="update")
    (edge,) = memory.edges(one)
    assert (edge.origin, edge.relation, edge.note) == ("agent", "similar", "mine")


def test_skipping_changes_nothing_and_returns_the_existing_edge(memory: SyncMemory) -> None:
    a, b = active(memory, 2)
    memory.connect(a, b, "supports", weight=0.7)
    before, version = memory.edges(a), memory.status().version
    skipped = memory.connect(b, a, "contradicts", weight=0.1, if_exists="skip")
    assert (skipped.action, skipped.relation, skipped.weight) == ("skipped", "supports", 0.7)
    assert (memory.edges(a), memory.status().version) == (before, version)


def test_if_exists_is_ignored_for_a_new_edge(memory: SyncMemory) -> None:
    blocks = active(memory, 5)
    for other, how in zip(blocks[1:], ("reinforce", "update", "skip", "error"), strict=True):
        assert memory.connect(blocks[0], other, if_exists=how).action == "created"


# --- refusals -----------------------------------------------------------------------------------

A, B = "<a>", "<b>"
REFUSALS = [
    ((A, A), {}, "self-loop"),
    (("0" * 16, "0" * 16), {}, "self-loop"),
    ((A, "0" * 16), {}, "block-not-found"),
    (("nonsense", A), {}, "block-not-found"),
    ((A, "<gone>"), {}, "block-not-active"),
    (("<gone>", A), {"if_exists": "skip"}, "block-not-active"),
    ((A, B), {"weight": 1.0000001}, "weight-out-of-range"),
    ((A, B), {"weight": -0.1}, "weight-out-of-range"),
    ((A, B), {"weight": float("nan")}, "weight-out-of-range"),
    ((A, B), {"weight": "0.5"}, "weight-out-of-range"),
    ((A, B), {"weight": True}, "weight-out-of-range"),
    ((A, B), {"weight": 7.5, "if_exists": "reinforce"}, "weight-out-of-range"),
    ((A, B), {"if_exists": "error"}, "edge-exists"),
    ((B, A), {"if_exists": "error"}, "edge-exists"),
    ((A, B), {"if_exists": "merge"}, "unknown-if-exists"),
    ((A, B), {"if_exists": None}, "unknown-if-exists"),
    ((A, B), {"note": "n" * 501}, "note-too-long"),
    ((A, B), {"note": 7}, "field-refused"),
    ((A, B), {"note": "\ud800", "if_exists": "update"}, "field-refused"),
    ((A, B), {"relation": 7}, "field-refused"),
    ((A, B), {"relation": "r" * 101}, "field-refused"),
    ((A, B), {"relation": "\ud800", "if_exists": "update"}, "field-refused"),
]


@pytest.mark.parametrize(("named", "given", "code"), REFUSALS, ids=str)
def test_an_invalid_connection_is_refused_and_leaves_no_trace(
    memory: SyncMemory, named: tuple[str, str], given: dict[str, Any], code: str
) -> None:
    a, b, gone = active(memory, 3)
    memory.connect(a, b, "supports")
    memory.forget(gone)
    before = memory.edges(a), memory.status()
    ids = {A: a, B: b, "<gone>": gone}
    source, target = (ids.get(name, name) for name in named)
    assert refused(lambda: memory.connect(source, target, **given)) == code
    assert (memory.edges(a), memory.status()) == before


def test_a_note_may_have_500_characters(memory: SyncMemory) -> None:
    a, b = active(memory, 2)
    assert memory.connect(a, b, note="n" * 500).note == "n" * 500
    assert memory.connect(a, b, note="   ", if_exists="update").note is None
    assert memory.edges(a)[0].note == "n" * 500


# --- disconnect ---------------------------------------------------------------------------------


def test_disconnecting_removes_the_edge_in_either_direction(memory: SyncMemory) -> None:
    a, b = active(memory, 2)
    memory.connect(a, b, "supports", weight=0.7)
    removed = memory.disconnect(b, a, reason="it does not")
    assert removed == DisconnectResult(
        source_id=b,
        target_id=a,
        action="removed",
        removed_relation="supports",
        removed_weight=0.7,
    )
    assert (memory.edges(a), memory.status().edges) == ((), 0)
    version = memory.status().version
    assert memory.disconnect(a, b).action == "not_found"
    assert memory.status().version == version


def test_guard_relation_keeps_an_edge_of_another_relation(memory: SyncMemory) -> None:
    a, b = active(memory, 2)
    memory.connect(a, b, "supports")
    version = memory.status().version
    assert memory.disconnect(a, b, guard_relation="similar").action == "guarded"
    assert (memory.status().version, len(memory.edges(a))) == (version, 1)
    assert memory.disconnect(a, b, guard_relation=" SUPPORTS ").action == "removed"


def test_an_invalid_disconnection_is_refused(memory: SyncMemory) -> None:
    a, b = active(memory, 2)
    memory.connect(a, b)
    before = memory.status()
    assert refused(lambda: memory.disconnect(a, a)) == "self-loop"
    assert refused(lambda: memory.disconnect(a, "0" * 16)) == "block-not-found"
    assert refused(lambda: memory.disconnect(a, b, reason="r" * 501)) == "note-too-long"
    assert refused(lambda: memory.disconnect(a, b, guard_relation=3)) == "field-refused"  # type: ignore[arg-type]
    assert memory.status() == before


def test_a_disconnected_pair_gets_no_outcome_edge_until_connected_again(memory: SyncMemory) -> None:
    a, b = active(memory, 2)
    memory.connect(a, b)
    memory.disconnect(a, b)
    outcome = memory.outcome([a, b], 1.0)
    assert (outcome.edges_created, outcome.edges_without_room) == (0, (tuple(sorted((a, b))),))
    memory.connect(a, b)
    memory.disconnect(a, b)
    assert memory.connect(a, b).action == "created"
