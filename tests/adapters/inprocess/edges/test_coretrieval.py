"""Co-retrieval: pairs staged once per session, connected in the third; edges refreshed by use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from mnemic.adapters.codec import Codec
from mnemic.adapters.embedders.hashing import ScriptedEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.system.clocks import ManualClock
from mnemic.adapters.system.entropy import SeededEntropy
from mnemic.kernel.events import RecallRecorded, Recorded
from mnemic.kernel.policy import Policy
from mnemic.kernel.ports import Log
from mnemic.kernel.results import Edge
from mnemic.projections.state.replay import rebuild
from mnemic.projections.state.state import State

Open: TypeAlias = Callable[..., SyncMemory]

SIZE = 16
NAMES = [f"b{n}" for n in range(SIZE)]
ALL = " ".join(NAMES)
APART = ScriptedEmbedder(
    {ALL: [1.0] * SIZE}
    | {name: [float(n == place) for n in range(SIZE)] for place, name in enumerate(NAMES)},
    SIZE,
)
"""Blocks that have nothing in common, so that no edge comes about by itself."""
EFFECTS = ("staged", "linked", "refreshed", "evicted")


@pytest.fixture
def memory(opened: Open) -> SyncMemory:
    return opened(embedder=APART)


def learned(memory: SyncMemory, *names: str) -> list[str]:
    """Learn and promote blocks outside of any session, and return their ids."""
    blocks = [str(memory.learn(name).block_id) for name in names]
    memory.consolidate()
    return blocks


def together(memory: SyncMemory, **asked: Any) -> None:
    """Return all blocks together in a session of its own."""
    with memory.session():
        memory.recall(**asked)


class StagedPairs:
    """Staged pairs and effects as recorded in the log, read afresh each time."""

    def __init__(self, log: Log) -> None:
        self._log = log

    def _recorded(self) -> list[Recorded]:
        codec = Codec(SeededEntropy("reader"))
        return [codec.decode(record, payloads) for record, payloads in self._log.read(-1)]

    def effects(self) -> dict[str, tuple[tuple[int, int], ...]]:
        """Return the effects of the last recall, by block numbers, without empty ones."""
        events = [recorded.event for recorded in self._recorded()]
        last = [event for event in events if isinstance(event, RecallRecorded)][-1]
        return {name: getattr(last, name) for name in EFFECTS if getattr(last, name)}

    def staged(self) -> dict[tuple[int, int], int]:
        """Return the staged pairs and the number of sessions in which each was returned."""
        existing = rebuild(State(), self._recorded()).graph.staged.current
        return {ends: len(held.sessions) for ends, held in existing.items()}


@pytest.fixture
def pairs(store: MemoryStore) -> StagedPairs:
    return StagedPairs(store.log("default"))


def co_occurrence(one: str, other: str, *, hour: float, count: int = 0) -> Edge:
    return Edge(
        source_id=one,  # type: ignore[arg-type]
        target_id=other,  # type: ignore[arg-type]
        relation="co_occurs",
        weight=0.55,
        effective_weight=0.55,
        origin="co_retrieval",
        anchor_hour=hour,
        reinforcement_count=count,
    )


# --- from staging to an edge --------------------------------------------------------------------


def test_the_third_distinct_session_makes_an_edge(memory: SyncMemory, pairs: StagedPairs) -> None:
    a, b = learned(memory, "b0", "b1")
    together(memory)
    assert (pairs.effects(), pairs.staged()) == ({"staged": ((0, 1),)}, {(0, 1): 1})
    together(memory)
    assert (pairs.effects(), pairs.staged()) == ({"staged": ((0, 1),)}, {(0, 1): 2})
    assert memory.edges(a) == ()
    together(memory)
    assert (pairs.effects(), pairs.staged()) == ({"linked": ((0, 1),)}, {})
    assert memory.edges(a) == memory.edges(b) == (co_occurrence(a, b, hour=0.0),)


def test_a_pair_is_staged_once_per_session(memory: SyncMemory, pairs: StagedPairs) -> None:
    learned(memory, "b0", "b1")
    with memory.session():
        memory.recall()
        memory.recall()
        assert (pairs.effects(), pairs.staged()) == ({}, {(0, 1): 1})
        memory.recall("b0")
    assert (pairs.effects(), pairs.staged()) == ({}, {(0, 1): 1})


def test_outside_a_session_and_without_a_record_nothing_is_staged(
    memory: SyncMemory, pairs: StagedPairs
) -> None:
    learned(memory, "b0", "b1")
    memory.recall()
    assert (pairs.effects(), pairs.staged()) == ({}, {})
    together(memory, record=False)
    assert pairs.staged() == {}


def test_a_repeated_command_stages_nothing_more(memory: SyncMemory, pairs: StagedPairs) -> None:
    learned(memory, "b0", "b1", "b2")
    with memory.session():
        first = memory.recall(command_id="once")
    with memory.session():
        assert memory.recall(command_id="once") == first
    assert pairs.staged() == {(0, 1): 1, (0, 2): 1, (1, 2): 1}


def test_sessions_of_two_handles_count_apart(opened: Open) -> None:
    one, two, three = (opened(embedder=APART) for _ in range(3))
    a, _ = learned(one, "b0", "b1")
    for handle in (one, two, three):
        handle.start_session()
    one.recall()
    two.recall()
    one.recall()
    assert one.edges(a) == ()
    three.recall()
    assert [edge.relation for edge in one.edges(a)] == ["co_occurs"]


# --- the cap and the limit ----------------------------------------------------------------------


def test_a_full_end_gets_no_edge_and_displaces_nothing_until_it_has_room(
    opened: Open, pairs: StagedPairs
) -> None:
    memory = opened(embedder=APART, policy=Policy(degree_cap=1))
    a, b, c = learned(memory, "b0", "b1", "b2")
    memory.connect(a, c, "similar")
    for _ in range(5):
        together(memory)
    assert [edge.relation for edge in memory.edges(a)] == ["similar"]
    assert memory.edges(b) == ()
    assert pairs.staged() == {(0, 1): 3, (1, 2): 3}
    memory.disconnect(a, c)
    together(memory)
    assert pairs.effects() == {"linked": ((0, 1),)}
    assert memory.edges(b) == (co_occurrence(a, b, hour=0.0),)


def test_the_pair_learned_first_gets_a_contested_place(opened: Open, pairs: StagedPairs) -> None:
    memory = opened(embedder=APART, policy=Policy(degree_cap=1, co_retrieval_sessions=1))
    learned(memory, "b0", "b1", "b2", "b3")
    together(memory)
    assert pairs.effects() == {
        "linked": ((0, 1), (2, 3)),
        "staged": ((0, 2), (0, 3), (1, 2), (1, 3)),
    }


def test_staging_evicts_pairs_with_the_fewest_sessions_then_the_oldest(
    opened: Open, pairs: StagedPairs
) -> None:
    memory = opened(embedder=APART, policy=Policy(staging_pairs_max=2))
    for name, tags in (("b0", ["p", "q"]), ("b1", ["p", "r"]), ("b2", ["q", "r"])):
        memory.learn(name, tags=tags)
    memory.consolidate()
    for tag in ("p", "q", "p"):
        together(memory, where={"tags": tag})
    assert pairs.staged() == {(0, 1): 2, (0, 2): 1}
    together(memory, where={"tags": "r"})
    assert pairs.effects() == {"staged": ((1, 2),), "evicted": ((0, 2),)}
    assert pairs.staged() == {(0, 1): 2, (1, 2): 1}


def test_a_pair_is_not_staged_if_staging_has_no_capacity(opened: Open, pairs: StagedPairs) -> None:
    memory = opened(embedder=APART, policy=Policy(staging_pairs_max=1))
    a, b, c = learned(memory, "b0", "b1", "b2")
    together(memory)
    # The three are equally new, so the two with the lower ids go at once.
    numbers = {a: 0, b: 1, c: 2}
    lower, higher = sorted(numbers[block] for block in sorted(numbers)[1:])
    assert pairs.effects() == {"staged": ((lower, higher),)}


# --- refreshing an edge -------------------------------------------------------------------------


def test_an_edge_is_refreshed_once_per_session_and_keeps_its_weight(
    memory: SyncMemory, pairs: StagedPairs, clock: ManualClock
) -> None:
    a, b = learned(memory, "b0", "b1")
    memory.connect(a, b, "supports", weight=0.7)
    memory.start_session()
    clock.advance(minutes=30)
    memory.recall()
    clock.advance(minutes=30)
    memory.recall()
    assert pairs.effects() == {}
    (edge,) = memory.edges(a)
    assert (edge.weight, edge.reinforcement_count, edge.anchor_hour) == (0.7, 1, 0.5)
    memory.end_session()
    together(memory)
    (edge,) = memory.edges(a)
    assert (edge.weight, edge.reinforcement_count, edge.anchor_hour) == (0.7, 2, 1.0)


def test_overlapping_sessions_refresh_an_edge_once_each(opened: Open) -> None:
    one, two = opened(embedder=APART), opened(embedder=APART)
    a, b = learned(one, "b0", "b1")
    one.connect(a, b)
    one.start_session()
    two.start_session()
    for handle in (one, two, one, two):
        handle.recall()
    assert [edge.reinforcement_count for edge in one.edges(a)] == [2]


def test_without_a_session_or_a_record_no_edge_is_refreshed(memory: SyncMemory) -> None:
    a, b = learned(memory, "b0", "b1")
    memory.connect(a, b)
    before = memory.edges(a)
    memory.recall()
    together(memory, record=False)
    assert memory.edges(a) == before


# --- end of staging -----------------------------------------------------------------------------


def test_a_disconnected_pair_is_not_staged_until_it_is_connected_again(
    memory: SyncMemory, pairs: StagedPairs
) -> None:
    a, b = learned(memory, "b0", "b1")
    memory.connect(a, b)
    memory.disconnect(a, b)
    for _ in range(4):
        together(memory)
    assert (pairs.staged(), memory.edges(a)) == ({}, ())


def test_archiving_a_block_removes_its_staged_pairs(memory: SyncMemory, pairs: StagedPairs) -> None:
    a, _, _ = learned(memory, "b0", "b1", "b2")
    together(memory)
    memory.forget(a)
    assert pairs.staged() == {(1, 2): 1}


def test_an_edge_replaces_a_staged_pair(memory: SyncMemory, pairs: StagedPairs) -> None:
    a, b = learned(memory, "b0", "b1")
    together(memory)
    memory.connect(a, b)
    assert pairs.staged() == {}


class Interrupted:
    """The scripted embedder, which runs a callback once while it embeds a question."""

    identity = APART.identity

    def __init__(self) -> None:
        self.meanwhile: Callable[[], object] | None = None

    def embed(self, texts: Sequence[str]) -> Any:
        happens, self.meanwhile = self.meanwhile, None
        if happens is not None:
            happens()
        return APART.embed(texts)


def test_a_block_archived_during_a_recall_is_not_staged(opened: Open, pairs: StagedPairs) -> None:
    embedder = Interrupted()
    asking, other = opened(embedder=embedder), opened(embedder=APART)
    a, b, c = learned(asking, "b0", "b1", "b2")
    asking.start_session()
    embedder.meanwhile = lambda: other.forget(b)
    found = asking.recall(ALL, frame="attention")
    assert set(found.block_ids) == {a, b, c}
    assert (pairs.effects(), pairs.staged()) == ({"staged": ((0, 2),)}, {(0, 2): 1})


# --- staging in the log -------------------------------------------------------------------------


def test_a_new_handle_continues_the_staging_of_the_log(opened: Open, path: Path) -> None:
    memory = opened(path, embedder=APART)
    a, b, c = learned(memory, "b0", "b1", "b2")
    memory.connect(a, b)
    together(memory)
    together(memory)
    again = opened(path, embedder=APART)
    together(again)
    for handle in (again, memory):
        assert {edge.target_id for edge in handle.edges(a)} == {b, c}
        assert [edge.reinforcement_count for edge in handle.edges(a)] == [3, 0]


def test_a_replay_applies_recorded_effects(memory: SyncMemory, pairs: StagedPairs) -> None:
    learned(memory, "b0", "b1")
    with memory.session():
        found = memory.recall()
    before = memory.log()
    assert found.decision_id is not None
    assert memory.replay(found.decision_id).outcome == "reproduced"
    assert (memory.log(), pairs.staged()) == (before, {(0, 1): 1})
