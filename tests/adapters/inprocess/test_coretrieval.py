"""Returned together: staged once per session, tied in the third, and what use does to an edge."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from mnemic.adapters.clocks import ManualClock
from mnemic.adapters.codec import Codec
from mnemic.adapters.embedders.hashing import ScriptedEmbedder
from mnemic.adapters.entropy import SeededEntropy
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.kernel.events import RecallRecorded, Recorded
from mnemic.kernel.policy import Policy
from mnemic.kernel.ports import Log
from mnemic.kernel.results import Edge
from mnemic.projections.state import State

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


class Told:
    """What the log itself says of pairs, read anew each time."""

    def __init__(self, log: Log) -> None:
        self._log = log

    def _recorded(self) -> list[Recorded]:
        codec = Codec(SeededEntropy("reader"))
        return [codec.decode(record, payloads) for record, payloads in self._log.read(-1)]

    def effects(self) -> dict[str, tuple[tuple[int, int], ...]]:
        """Return what the last recall did, by block numbers, without what it did not do."""
        events = [recorded.event for recorded in self._recorded()]
        last = [event for event in events if isinstance(event, RecallRecorded)][-1]
        return {name: getattr(last, name) for name in EFFECTS if getattr(last, name)}

    def staged(self) -> dict[tuple[int, int], int]:
        """Return the staged pairs and in how many sessions each was returned."""
        standing = State().rebuild(self._recorded()).graph.staged.current
        return {ends: len(held.sessions) for ends, held in standing.items()}


@pytest.fixture
def told(store: MemoryStore) -> Told:
    return Told(store.log("default"))


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


def test_the_third_distinct_session_makes_an_edge(memory: SyncMemory, told: Told) -> None:
    a, b = learned(memory, "b0", "b1")
    together(memory)
    assert (told.effects(), told.staged()) == ({"staged": ((0, 1),)}, {(0, 1): 1})
    together(memory)
    assert (told.effects(), told.staged()) == ({"staged": ((0, 1),)}, {(0, 1): 2})
    assert memory.edges(a) == ()
    together(memory)
    assert (told.effects(), told.staged()) == ({"linked": ((0, 1),)}, {})
    assert memory.edges(a) == memory.edges(b) == (co_occurrence(a, b, hour=0.0),)


def test_a_pair_is_staged_once_per_session(memory: SyncMemory, told: Told) -> None:
    learned(memory, "b0", "b1")
    with memory.session():
        memory.recall()
        memory.recall()
        assert (told.effects(), told.staged()) == ({}, {(0, 1): 1})
        memory.recall("b0")
    assert (told.effects(), told.staged()) == ({}, {(0, 1): 1})


def test_outside_a_session_and_without_a_record_nothing_is_staged(
    memory: SyncMemory, told: Told
) -> None:
    learned(memory, "b0", "b1")
    memory.recall()
    assert (told.effects(), told.staged()) == ({}, {})
    together(memory, record=False)
    assert told.staged() == {}


def test_a_repeated_command_stages_nothing_more(memory: SyncMemory, told: Told) -> None:
    learned(memory, "b0", "b1", "b2")
    with memory.session():
        first = memory.recall(command_id="once")
    with memory.session():
        assert memory.recall(command_id="once") == first
    assert told.staged() == {(0, 1): 1, (0, 2): 1, (1, 2): 1}


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
    opened: Open, told: Told
) -> None:
    memory = opened(embedder=APART, policy=Policy(degree_cap=1))
    a, b, c = learned(memory, "b0", "b1", "b2")
    memory.connect(a, c, "similar")
    for _ in range(5):
        together(memory)
    assert [edge.relation for edge in memory.edges(a)] == ["similar"]
    assert memory.edges(b) == ()
    assert told.staged() == {(0, 1): 3, (1, 2): 3}
    memory.disconnect(a, c)
    together(memory)
    assert told.effects() == {"linked": ((0, 1),)}
    assert memory.edges(b) == (co_occurrence(a, b, hour=0.0),)


def test_of_several_pairs_that_want_one_place_the_first_learned_gets_it(
    opened: Open, told: Told
) -> None:
    memory = opened(embedder=APART, policy=Policy(degree_cap=1, co_retrieval_sessions=1))
    learned(memory, "b0", "b1", "b2", "b3")
    together(memory)
    assert told.effects() == {
        "linked": ((0, 1), (2, 3)),
        "staged": ((0, 2), (0, 3), (1, 2), (1, 3)),
    }


def test_beyond_its_limit_staging_lets_the_fewest_sessions_and_then_the_oldest_go(
    opened: Open, told: Told
) -> None:
    memory = opened(embedder=APART, policy=Policy(staging_pairs_max=2))
    for name, tags in (("b0", ["p", "q"]), ("b1", ["p", "r"]), ("b2", ["q", "r"])):
        memory.learn(name, tags=tags)
    memory.consolidate()
    for tag in ("p", "q", "p"):
        together(memory, where={"tags": tag})
    assert told.staged() == {(0, 1): 2, (0, 2): 1}
    together(memory, where={"tags": "r"})
    assert told.effects() == {"staged": ((1, 2),), "evicted": ((0, 2),)}
    assert told.staged() == {(0, 1): 2, (1, 2): 1}


def test_a_pair_for_which_staging_has_no_place_at_all_is_not_staged(
    opened: Open, told: Told
) -> None:
    memory = opened(embedder=APART, policy=Policy(staging_pairs_max=1))
    a, b, c = learned(memory, "b0", "b1", "b2")
    together(memory)
    # The three are equally new, so the two with the lower ids go at once.
    numbers = {a: 0, b: 1, c: 2}
    lower, higher = sorted(numbers[block] for block in sorted(numbers)[1:])
    assert told.effects() == {"staged": ((lower, higher),)}


# --- an edge that is used -----------------------------------------------------------------------


def test_an_edge_is_refreshed_once_per_session_and_keeps_its_weight(
    memory: SyncMemory, told: Told, clock: ManualClock
) -> None:
    a, b = learned(memory, "b0", "b1")
    memory.connect(a, b, "supports", weight=0.7)
    memory.start_session()
    clock.advance(minutes=30)
    memory.recall()
    clock.advance(minutes=30)
    memory.recall()
    assert told.effects() == {}
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


# --- what ends staging --------------------------------------------------------------------------


def test_a_disconnected_pair_is_not_staged_until_it_is_connected_again(
    memory: SyncMemory, told: Told
) -> None:
    a, b = learned(memory, "b0", "b1")
    memory.connect(a, b)
    memory.disconnect(a, b)
    for _ in range(4):
        together(memory)
    assert (told.staged(), memory.edges(a)) == ({}, ())


def test_the_staged_pairs_of_an_archived_block_go_with_it(memory: SyncMemory, told: Told) -> None:
    a, _, _ = learned(memory, "b0", "b1", "b2")
    together(memory)
    memory.forget(a)
    assert told.staged() == {(1, 2): 1}


def test_an_edge_takes_the_place_of_a_staged_pair(memory: SyncMemory, told: Told) -> None:
    a, b = learned(memory, "b0", "b1")
    together(memory)
    memory.connect(a, b)
    assert told.staged() == {}


class Interrupted:
    """The scripted embedder, which lets something happen while it embeds a question, once."""

    identity = APART.identity

    def __init__(self) -> None:
        self.meanwhile: Callable[[], object] | None = None

    def embed(self, texts: Sequence[str]) -> Any:
        happens, self.meanwhile = self.meanwhile, None
        if happens is not None:
            happens()
        return APART.embed(texts)


def test_a_block_that_was_archived_while_the_answer_was_found_takes_no_part(
    opened: Open, told: Told
) -> None:
    embedder = Interrupted()
    asking, other = opened(embedder=embedder), opened(embedder=APART)
    a, b, c = learned(asking, "b0", "b1", "b2")
    asking.start_session()
    embedder.meanwhile = lambda: other.forget(b)
    found = asking.recall(ALL)
    assert set(found.block_ids) == {a, b, c}
    assert (told.effects(), told.staged()) == ({"staged": ((0, 2),)}, {(0, 2): 1})


# --- the log holds it all -----------------------------------------------------------------------


def test_a_fresh_handle_goes_on_with_the_staging_of_the_log(opened: Open, path: Path) -> None:
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


def test_a_replay_decides_no_effect_again(memory: SyncMemory, told: Told) -> None:
    learned(memory, "b0", "b1")
    with memory.session():
        found = memory.recall()
    before = memory.log()
    assert found.decision_id is not None
    assert memory.replay(found.decision_id).outcome == "reproduced"
    assert (memory.log(), told.staged()) == (before, {(0, 1): 1})
