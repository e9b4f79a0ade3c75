"""connects: one transaction, each edge decided on the result of earlier ones, single refusals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.adapters.codec import Codec
from mnemic.adapters.embedders.hashing import ScriptedEmbedder, with_cosine
from mnemic.adapters.inprocess import ConnectSpec, SyncMemory
from mnemic.adapters.inprocess.results import refusals_in
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.system.clocks import ManualClock
from mnemic.adapters.system.entropy import SeededEntropy
from mnemic.kernel.errors import BatchRefused, MnemicError, Refused
from mnemic.kernel.events import Event
from mnemic.kernel.model.identity import BlockId
from mnemic.kernel.policy import Policy
from mnemic.kernel.results import ConnectResult, ConnectsResult, RefusedEdge

Open: TypeAlias = Callable[..., SyncMemory]
Spec: TypeAlias = dict[str, Any]

SIZE = 12


def axis(place: int) -> tuple[float, ...]:
    return tuple(float(n == place) for n in range(SIZE))


APART = ScriptedEmbedder({f"b{n}": axis(n) for n in range(SIZE)}, SIZE)
NEAR = {"hub": axis(0), **{f"n{n}": with_cosine(axis(0), 0.5, axis=n) for n in range(1, 6)}}
"""Five blocks around a hub: each would form an edge to it by itself, and none to another."""


def refused(call: Callable[[], object]) -> str:
    with pytest.raises(MnemicError) as caught:
        call()
    assert caught.value.recovery
    return caught.value.code


def active(memory: SyncMemory, texts: Sequence[str]) -> list[BlockId]:
    blocks = [memory.learn(text).block_id for text in texts]
    memory.consolidate()
    return blocks


@pytest.fixture
def memory(opened: Open) -> SyncMemory:
    return opened(embedder=APART)


def test_a_batch_connects_what_it_can_and_refuses_the_rest_one_by_one(memory: SyncMemory) -> None:
    a, b, c = active(memory, ["b0", "b1", "b2"])
    gone = memory.learn("b3").block_id
    memory.forget(gone)
    batch = memory.connects(
        [
            {"source": a, "target": b, "relation": "supports", "note": "seen"},
            ConnectSpec(source=b, target=a),
            {"source": a, "target": a},
            {"source": a, "target": "nobody"},
            {"source": c, "target": gone},
            {"source": a, "target": c, "weight": 1.5},
            {"source": a, "target": c, "colour": "red"},
            {"target": c},
            (a, c),  # type: ignore[list-item]
            {"source": b, "target": a, "relation": "elaborates", "if_exists": "update"},
            {"source": a, "target": b, "if_exists": "skip"},
            {"source": a, "target": b, "if_exists": "error"},
            {"source": a, "target": c, "if_exists": "perhaps"},
        ]
    )
    assert [(each.action, each.relation, each.weight) for each in batch.results] == [
        ("created", "supports", 0.75),
        ("reinforced", "supports", 0.85),
        ("updated", "elaborates", 0.85),
        ("skipped", "elaborates", 0.85),
    ]
    assert [
        (each.position, each.source_id, each.target_id, each.code) for each in batch.errors
    ] == [
        (2, a, a, "self-loop"),
        (3, a, "nobody", "block-not-found"),
        (4, c, gone, "block-not-active"),
        (5, a, c, "weight-out-of-range"),
        (6, None, None, "field-refused"),
        (7, None, None, "field-refused"),
        (8, None, None, "field-refused"),
        (11, a, b, "edge-exists"),
        (12, a, c, "unknown-if-exists"),
    ]
    assert all(each.recovery and each.detail for each in batch.errors)
    counts = (batch.created, batch.reinforced, batch.updated, batch.skipped, batch.deferred)
    assert counts == (1, 1, 1, 1, 0)
    assert str(batch) == batch.summary
    said, _, reasons = batch.summary.partition(" (")
    assert said == "Edges: 1 created, 1 reinforced, 1 updated, 1 skipped, 9 refused"
    assert reasons.startswith("#2 self-loop: ")
    assert reasons.endswith("; and 6 more).")


def test_the_result_of_each_edge_is_that_of_connect(memory: SyncMemory) -> None:
    a, b = active(memory, ["b0", "b1"])
    batch = memory.connects([{"source": a, "target": b, "weight": 0.1, "note": " so "}, 7])  # type: ignore[list-item]
    made = ConnectResult(
        source_id=a,
        target_id=b,
        relation="similar",
        weight=0.1,
        action="created",
        note="so",
        warnings=("weight 0.10 is far from the usual 0.65 of 'similar'",),
    )
    error = RefusedEdge(
        position=1,
        source_id=None,
        target_id=None,
        code="field-refused",
        detail="not an edge: 7",
        recovery="Its fields: source, target, relation, weight, note, if_exists.",
    )
    assert batch == ConnectsResult(results=(made,), created=1, errors=(error,))
    assert batch.to_dict()["errors"] == [error.to_dict()]
    assert str(error) == "#1 field-refused: not an edge: 7"


def test_a_batch_is_one_transaction(memory: SyncMemory, store: MemoryStore) -> None:
    blocks = active(memory, [f"b{n}" for n in range(4)])
    before = memory.status().version
    memory.connects([{"source": blocks[0], "target": other} for other in blocks[1:]])
    moments = memory.log(after=before)
    assert [moment.kind for moment in moments] == ["edge-connected"] * 3
    assert len({(moment.hour, moment.recorded_at) for moment in moments}) == 1
    assert store.log("default").head().version == before + 3


def test_a_batch_without_valid_edges_writes_nothing(memory: SyncMemory) -> None:
    before = memory.status()
    assert memory.connects([]) == ConnectsResult()
    with pytest.raises(BatchRefused, match="1 edge was refused: #0 block-not-found"):
        memory.connects([{"source": "x", "target": "y"}])
    assert memory.status() == before


def test_a_block_filled_by_a_batch_is_full_for_its_later_edges(opened: Open) -> None:
    memory = opened(embedder=APART, policy=Policy(degree_cap=2))
    blocks = active(memory, [f"b{n}" for n in range(5)])
    batch = memory.connects(
        [{"source": blocks[0], "target": other, "relation": "supports"} for other in blocks[1:]]
    )
    assert [each.action for each in batch.results] == ["created", "created", "deferred", "deferred"]
    assert (batch.created, batch.deferred) == (2, 2)
    assert batch.results[2].deferred_note is not None
    assert "waits for room" in batch.results[2].summary
    assert memory.status().pending_connections == 2


def test_an_edge_displaced_by_one_cannot_be_displaced_by_the_next(opened: Open) -> None:
    memory = opened(embedder=ScriptedEmbedder(NEAR, SIZE), policy=Policy(degree_cap=2))
    ids = dict(zip(NEAR, active(memory, list(NEAR)), strict=True))
    existing = memory.edges(ids["hub"])
    free = [name for name in NEAR if not memory.edges(ids[name])]
    assert (len(existing), len(free)) == (2, 3)
    batch = memory.connects(
        [{"source": ids["hub"], "target": ids[name], "relation": "supports"} for name in free]
    )
    assert [each.action for each in batch.results] == ["created", "created", "deferred"]
    displaced = [edge for each in batch.results for edge in each.displaced_edges]
    assert {(edge.from_id, edge.to_id) for edge in displaced} == {
        (min(edge.source_id, edge.target_id), max(edge.source_id, edge.target_id))
        for edge in existing
    }
    first = batch.results[0]
    assert first.displaced_edge is not None
    assert first.displaced_edge.summary in first.summary


def test_a_batch_is_a_list_with_a_limit(memory: SyncMemory) -> None:
    a, b = active(memory, ["b0", "b1"])
    one = {"source": a, "target": b}
    before = memory.status()
    assert refused(lambda: memory.connects([one] * 1001)) == "field-refused"
    assert refused(lambda: memory.connects(one)) == "field-refused"  # type: ignore[arg-type]
    assert refused(lambda: memory.connects(ConnectSpec(**one))) == "field-refused"  # type: ignore[arg-type]
    assert refused(lambda: memory.connects("a b")) == "field-refused"  # type: ignore[arg-type]
    assert refused(lambda: memory.connects(None)) == "field-refused"  # type: ignore[arg-type]
    assert memory.status() == before
    assert memory.connects([one] * 1000).reinforced == 999


def test_a_one_shot_batch_is_accepted(memory: SyncMemory) -> None:
    a, b = active(memory, ["b0", "b1"])
    assert memory.connects({"source": x, "target": b} for x in (a, "nobody")).created == 1


# --- a batch is its edges one by one ------------------------------------------------------------

NAMES = tuple(NEAR)
ANY_NAME = st.sampled_from((*NAMES, "nobody"))
ANY_SPEC = st.fixed_dictionaries(
    {"source": ANY_NAME, "target": ANY_NAME},
    optional={
        "relation": st.sampled_from((None, "similar", "co_occurs", "supports", "odd")),
        "weight": st.sampled_from((None, 0.0, 0.4, 1.0, 2.0)),
        "note": st.sampled_from((None, "why", "x" * 501)),
        "if_exists": st.sampled_from(("reinforce", "update", "skip", "error", "perhaps")),
    },
)


def prepared(store: MemoryStore) -> tuple[SyncMemory, dict[str, str]]:
    """Return a memory with edges, a pending connection and a barred pair under a cap of two."""
    clock = ManualClock()
    memory = SyncMemory.open(
        store,
        embedder=ScriptedEmbedder(NEAR, SIZE),
        policy=Policy(degree_cap=2),
        clock=clock,
        entropy=SeededEntropy("twins"),
    )
    memory.start_session()
    ids = dict(zip(NAMES, active(memory, NAMES), strict=True))
    clock.advance(minutes=30)
    memory.connect(ids["n1"], ids["n2"], "supports")
    memory.connect(ids["n1"], ids["n3"], "supports")
    memory.connect(ids["n1"], ids["n4"], "supports", note="later")
    memory.disconnect(ids["n4"], ids["n5"])
    clock.advance(minutes=30)
    return memory, {**ids, "nobody": "nobody"}


def log_and_queries(memory: SyncMemory, store: MemoryStore) -> tuple[list[Event], object]:
    """Return every event of the log, and the answers of queries."""
    codec = Codec(SeededEntropy())
    events = [codec.decode(*stored).event for stored in store.log("default").read(-1, None)]
    edges = [memory.edges(block.id) for block in memory.blocks().items]
    return events, (edges, memory.pending_connections(), memory.status())


def one_by_one(memory: SyncMemory, specs: Sequence[Spec]) -> list[ConnectResult | str]:
    found: list[ConnectResult | str] = []
    for spec in specs:
        try:
            found.append(memory.connect(**spec))
        except Refused as refusal:
            found.append(refusal.code)
    return found


@given(st.lists(ANY_SPEC, max_size=12))
def test_a_batch_is_equivalent_to_single_connects(specs: list[Spec]) -> None:
    alone, together = MemoryStore(), MemoryStore()
    memory, ids = prepared(alone)
    twin, same = prepared(together)
    assert same == ids
    named = [
        {**spec, "source": ids[spec["source"]], "target": ids[spec["target"]]} for spec in specs
    ]
    singly = one_by_one(memory, named)
    answers: list[ConnectResult | str] = []
    try:
        batch = twin.connects(named)
    except BatchRefused as refused:
        answers += [each.code for each in refusals_in(refused, RefusedEdge)]
    else:
        answers += batch.results
        for error in batch.errors:
            answers.insert(error.position, error.code)
    assert answers == singly
    assert log_and_queries(twin, together) == log_and_queries(memory, alone)
