"""outcome: evidence for blocks, and the effects of a clear success or failure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import pytest

from mnemic.adapters.embedders.hashing import ScriptedEmbedder, with_cosine
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.system.clocks import ManualClock
from mnemic.kernel.errors import BatchRefused, MnemicError
from mnemic.kernel.model.identity import BlockId
from mnemic.kernel.policy import Policy
from mnemic.kernel.results import Edge, OutcomeResult

Open: TypeAlias = Callable[..., SyncMemory]

SIZE = 16
LONG_SESSIONS = Policy(idle_gap_hours=10_000.0)


def axis(place: int) -> tuple[float, ...]:
    return tuple(float(n == place) for n in range(SIZE))


APART = ScriptedEmbedder({"ask": (1.0,) * SIZE, **{f"b{n}": axis(n) for n in range(SIZE)}}, SIZE)


def refused(call: Callable[[], object]) -> str:
    with pytest.raises(MnemicError) as caught:
        call()
    assert caught.value.recovery
    return caught.value.code


def active(memory: SyncMemory, count: int, **lesson: Any) -> list[BlockId]:
    """Learn and promote blocks that have nothing in common, and return their ids in order."""
    blocks = [memory.learn(f"b{n}", **lesson).block_id for n in range(count)]
    memory.consolidate()
    return sorted(blocks)


@pytest.fixture
def memory(opened: Open) -> SyncMemory:
    return opened(embedder=APART, policy=LONG_SESSIONS)


# --- evidence -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("outcomes", "usefulness", "evidence"),
    [
        ([], 0.5, 0.0),
        ([(1.0, 1.0)], 0.75, 1.0),
        ([(0.0, 1.0)], 0.25, 1.0),
        ([(0.5, 1.0)], 0.5, 1.0),
        ([(1.0, 1.0), (1.0, 1.0)], 0.833333333, 2.0),
        ([(1.0, 3.0)], 0.875, 3.0),
        ([(0.25, 2.0)], 0.333333333, 2.0),
        ([(1.0, 0.001)], 0.500499500, 0.001),
        ([(1, 1)], 0.75, 1.0),
    ],
)
def test_usefulness_is_the_mean_of_the_posterior(
    memory: SyncMemory,
    outcomes: list[tuple[float, float]],
    usefulness: float,
    evidence: float,
) -> None:
    (block,) = active(memory, 1)
    for signal, weight in outcomes:
        memory.outcome([block], signal, weight=weight)
    found = memory.block(block)
    assert (found.usefulness, found.evidence) == (usefulness, evidence)


def test_a_result_lists_the_effects(memory: SyncMemory) -> None:
    a, b, c = active(memory, 3)
    memory.connect(a, b, "supports")
    done = memory.outcome([c, b, a], 0.75, weight=2.0, source="tests")
    assert done == OutcomeResult(
        updated=(a, b, c),
        signal=0.75,
        weight=2.0,
        reinforced=3,
        edges_created=2,
        edges_confirmed=1,
    )
    assert str(done) == "Outcome: 3 blocks scored 0.75, 2 edges created, 1 edge confirmed."


def test_repeated_ids_count_once(memory: SyncMemory) -> None:
    a, b = active(memory, 2)
    done = memory.outcome([a, b, a, a], 1.0)
    assert (done.updated, done.reinforced, done.edges_created) == ((a, b), 2, 1)
    assert memory.block(a).evidence == 1.0
    assert memory.block(a).reinforcements == 2


def test_a_single_id_is_accepted_without_a_list(memory: SyncMemory) -> None:
    (block,) = active(memory, 1)
    assert memory.outcome(block, 1.0).updated == (block,)


def test_constitutional_blocks_are_scored_like_others(memory: SyncMemory) -> None:
    (law,) = active(memory, 1, tags=["self/constitutional"])
    memory.outcome([law], 0.0)
    found = memory.block(law)
    assert (found.usefulness, found.evidence, found.decay_rate) == (0.25, 1.0, 1e-5)


# --- thresholds ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("signal", "reinforced", "rate"),
    [
        (1.0, True, 0.01),
        (0.500000001, True, 0.01),
        (0.5, False, 0.01),
        (0.2, False, 0.01),
        (0.199999999, False, 0.02),
        (0.0, False, 0.02),
    ],
)
def test_success_begins_above_a_half_and_failure_below_a_fifth(
    memory: SyncMemory, clock: ManualClock, signal: float, *, reinforced: bool, rate: float
) -> None:
    a, b = active(memory, 2)
    memory.start_session()
    clock.advance(hours=3)
    done = memory.outcome([a, b], signal)
    assert (done.reinforced, done.edges_created) == ((2, 1) if reinforced else (0, 0))
    assert done.penalised == (2 if rate != 0.01 else 0)
    found = memory.block(a)
    assert (found.last_reinforced_hour, found.reinforcements) == (
        (3.0, 2) if reinforced else (0.0, 1)
    )
    assert found.decay_rate == rate


@pytest.mark.parametrize(
    ("tags", "category", "rates"),
    [
        ((), "knowledge", [0.02, 0.04, 0.05, 0.05]),
        ((), "observation", [0.05, 0.05]),
        (("self/goal",), "knowledge", [0.001, 0.001]),
        (("self/constitutional",), "knowledge", [1e-5, 1e-5]),
    ],
)
def test_failures_double_the_decay_up_to_a_ceiling_but_never_of_lasting_blocks(
    memory: SyncMemory, tags: tuple[str, ...], category: str, rates: list[float]
) -> None:
    (block,) = active(memory, 1, tags=tags, category=category)
    seen = []
    for _ in rates:
        memory.outcome([block], 0.0)
        seen.append(memory.block(block).decay_rate)
    assert seen == rates


def test_a_penalty_speeds_up_blocks_and_not_their_edges(
    memory: SyncMemory, clock: ManualClock
) -> None:
    a, b = active(memory, 2)
    memory.start_session()
    memory.outcome([a, b], 1.0)
    memory.outcome([a, b], 0.0)
    clock.advance(hours=100)
    assert memory.block(a).recency == pytest.approx(0.135335283, abs=1e-9)
    assert memory.edges(a)[0].effective_weight == pytest.approx(0.8 * 0.606530660, abs=1e-9)


# --- edges --------------------------------------------------------------------------------------


def test_every_pair_of_a_success_gets_an_edge_of_its_weight(
    memory: SyncMemory, clock: ManualClock
) -> None:
    a, b, c = active(memory, 3)
    memory.start_session()
    clock.advance(hours=2)
    assert memory.outcome([a, b, c], 0.6).edges_created == 3
    edge = Edge(
        source_id=a,
        target_id=b,
        relation="outcome",
        weight=0.48,
        effective_weight=0.48,
        origin="outcome",
        anchor_hour=2.0,
    )
    assert edge in memory.edges(a)
    assert memory.status().edges == 3


def test_an_existing_edge_keeps_relation_and_weight_and_counts_one_more_use(
    memory: SyncMemory, clock: ManualClock
) -> None:
    a, b = active(memory, 2)
    memory.connect(b, a, "contradicts", weight=0.3, note="they differ")
    memory.start_session()
    clock.advance(hours=7)
    done = memory.outcome([a, b], 0.9)
    assert (done.edges_created, done.edges_confirmed) == (0, 1)
    (edge,) = memory.edges(a)
    assert (edge.relation, edge.weight, edge.origin) == ("contradicts", 0.3, "agent")
    assert (edge.source_id, edge.note) == (b, "they differ")
    assert (edge.reinforcement_count, edge.anchor_hour) == (1, 7.0)


def test_confirming_an_edge_saves_it_from_the_sweep(memory: SyncMemory, clock: ManualClock) -> None:
    a, b, c, d = active(memory, 4)
    memory.start_session()
    memory.outcome([a, b], 0.6)
    memory.outcome([c, d], 0.6)
    clock.advance(hours=290)
    memory.outcome([a, b], 0.6)
    memory.outcome([c], 0.6)
    memory.outcome([d], 0.6)
    clock.advance(hours=40)
    assert memory.curate().edges_decayed == 1
    assert (len(memory.edges(a)), memory.edges(c)) == (1, ())


def test_pairs_without_room_are_named(opened: Open) -> None:
    memory = opened(embedder=APART, policy=Policy(degree_cap=2))
    a, b, c, d = active(memory, 4)
    done = memory.outcome([a, b, c, d], 1.0)
    assert done.edges_created == 3
    assert done.edges_without_room == ((a, d), (b, d), (c, d))
    assert all(len(memory.edges(block)) <= 2 for block in (a, b, c, d))
    assert memory.status().edges == done.edges_created


def test_an_outcome_edge_displaces_a_found_one_and_reports_it(opened: Open) -> None:
    said = {"hub": axis(0), "like": with_cosine(axis(0), 0.6, axis=1), "proven": axis(5)}
    memory = opened(embedder=ScriptedEmbedder(said, SIZE), policy=Policy(degree_cap=1))
    hub, like, proven = (memory.learn(text).block_id for text in said)
    memory.consolidate()
    done = memory.outcome([hub, proven], 1.0)
    assert [{edge.from_id, edge.to_id} for edge in done.displaced_edges] == [{hub, like}]
    assert (memory.edges(like), len(memory.edges(hub)), done.edges_created) == ((), 1, 1)


# --- of a decision ------------------------------------------------------------------------------


def test_the_blocks_of_a_decision_are_scored(memory: SyncMemory) -> None:
    active(memory, 4)
    found = memory.recall("ask", top_k=2)
    done = memory.outcome(decision_id=found.decision_id, signal=1.0)
    assert done.updated == tuple(sorted(found.block_ids))
    assert {memory.block(block).evidence for block in found.block_ids} == {1.0}


def test_the_blocks_of_a_decision_are_scored_even_if_some_are_archived(memory: SyncMemory) -> None:
    active(memory, 3)
    found = memory.recall("ask", frame="attention")
    gone = found.block_ids[1]
    memory.forget(gone)
    done = memory.outcome(decision_id=found.decision_id)
    assert [(each.id, each.code, each.position) for each in done.refused] == [
        (gone, "block-not-active", 1)
    ]
    assert len(done.updated) == 2


# --- refusals -----------------------------------------------------------------------------------


def test_ids_that_cannot_be_scored_are_refused_individually(opened: Open) -> None:
    memory = opened(embedder=APART, policy=Policy(auto_consolidate=False))
    scored, gone = active(memory, 2)
    memory.forget(gone)
    waiting = memory.learn("b5").block_id
    given = [waiting, scored, "0" * 16, gone, "no id at all" * 20]
    done = memory.outcome(given, 1.0)
    assert done.updated == (scored,)
    assert sorted((each.position, each.code) for each in done.refused) == [
        (0, "block-in-inbox"),
        (2, "block-not-found"),
        (3, "block-not-active"),
        (4, "block-not-found"),
    ]
    assert all(each.detail for each in done.refused)
    memory.consolidate()
    assert memory.block(waiting).evidence == 0.0  # refused stays refused


def test_when_nothing_can_be_scored_nothing_is_written(memory: SyncMemory) -> None:
    (gone,) = active(memory, 1)
    memory.forget(gone)
    before = memory.status()
    with pytest.raises(BatchRefused) as error:
        memory.outcome([gone, "0" * 16], 1.0)
    assert error.value.message == (
        "all 2 blocks were refused: "
        f"#0 block-not-active: the block is archived: {gone}; "
        f"#1 block-not-found: no block has this id: {'0' * 16}"
    )
    assert memory.status() == before


REFUSALS: list[tuple[dict[str, Any], str]] = [
    ({"signal": 1.0000001}, "signal-out-of-range"),
    ({"signal": -0.01}, "signal-out-of-range"),
    ({"signal": float("nan")}, "signal-out-of-range"),
    ({"signal": True}, "signal-out-of-range"),
    ({"signal": "good"}, "signal-out-of-range"),
    ({"signal": None}, "signal-out-of-range"),
    ({"weight": 0.0}, "field-refused"),
    ({"weight": -1.0}, "field-refused"),
    ({"weight": float("nan")}, "field-refused"),
    ({"weight": float("inf")}, "field-refused"),
    ({"weight": 1001.0}, "field-refused"),
    ({"weight": True}, "field-refused"),
    ({"source": 7}, "field-refused"),
    ({"source": "s" * 201}, "field-refused"),
    ({"source": "\ud800"}, "field-refused"),
    ({"block_ids": []}, "nothing-to-score"),
    ({"block_ids": None}, "nothing-to-score"),
    ({"decision_id": "d2"}, "nothing-to-score"),
    ({"block_ids": None, "decision_id": "d0"}, "decision-not-found"),
    ({"block_ids": None, "decision_id": "d99"}, "decision-not-found"),
    ({"block_ids": None, "decision_id": "nonsense"}, "decision-not-found"),
    ({"block_ids": None, "decision_id": 7}, "decision-not-found"),
    ({"block_ids": None, "decision_id": "d" + "9" * 5000}, "decision-not-found"),
    ({"block_ids": 7}, "field-refused"),
    ({"block_ids": ["0" * 16] * 1001}, "field-refused"),
]


@pytest.mark.parametrize(("given", "code"), REFUSALS, ids=lambda value: str(value)[:50])
def test_an_invalid_outcome_is_refused_and_leaves_no_trace(
    memory: SyncMemory, given: dict[str, Any], code: str
) -> None:
    blocks = active(memory, 2)
    before = memory.status(), memory.block(blocks[0])
    call: dict[str, Any] = {"block_ids": blocks, "signal": 1.0, **given}
    assert refused(lambda: memory.outcome(**call)) == code
    assert (memory.status(), memory.block(blocks[0])) == before


def test_the_prior_is_that_of_the_policy_in_force_for_every_block(memory: SyncMemory) -> None:
    old = memory.learn("b0").block_id
    memory.consolidate()
    memory.outcome([old], 1.0)
    before = memory.status().version
    memory.adopt_policy(Policy(name="sceptical", outcome_prior=2.0))
    young = memory.learn("b1").block_id
    memory.consolidate()
    found = [
        (memory.block(block).usefulness, memory.block(block).evidence) for block in (old, young)
    ]
    assert found == [(0.6, 1.0), (0.5, 0.0)]
    assert memory.as_of(version=before).block(old).usefulness == 0.75
    new = memory.revise(old, "b2").block_id
    assert (memory.block(new).usefulness, memory.block(new).evidence) == (0.6, 1.0)
    memory.consolidate()
    usefulness = {block.id: block.usefulness_score for block in memory.recall(record=False).blocks}
    assert usefulness == {new: 0.6, young: 0.5}
