"""At the end of a session, an agent connects the blocks it touched."""

from __future__ import annotations

from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.system.clocks import ManualClock
from tests.scenarios.conftest import Learn

OLD = "The old office had no lift"
DAY = (
    "Tickets that name an order number are answered twice as fast",
    "Ask for the order number in the first reply",
    "Asking for an order number first sounds unfriendly",
)


def reflected(memory: SyncMemory, learn: Learn, clock: ManualClock) -> tuple[str, ...]:
    """Run a session in which three blocks are learned, and return them."""
    learn(memory, OLD)
    with memory.session():
        blocks = [memory.learn(text).block_id for text in DAY]
        clock.advance(minutes=30)
        memory.consolidate()
        memory.outcome(blocks[:1], 0.4)
    return tuple(blocks)


def test_the_short_term_frame_shows_the_session_and_nothing_older(
    memory: SyncMemory, learn: Learn, clock: ManualClock
) -> None:
    blocks = reflected(memory, learn, clock)
    shown = memory.recall("what was learned today", frame="short_term", top_k=10)
    assert set(shown.block_ids) == set(blocks)


def test_the_blocks_of_the_session_are_listed_until_a_new_one_begins(
    memory: SyncMemory, learn: Learn, clock: ManualClock
) -> None:
    blocks = reflected(memory, learn, clock)
    assert memory.session_block_ids == blocks
    memory.start_session()
    assert memory.session_block_ids == ()


def test_many_connections_are_one_command_and_an_invalid_one_spoils_none(
    memory: SyncMemory, learn: Learn, clock: ManualClock
) -> None:
    fast, ask, unfriendly = reflected(memory, learn, clock)
    before = memory.status().version
    done = memory.connects(
        [
            {"source": fast, "target": ask, "relation": "supports", "if_exists": "update"},
            {"source": ask, "target": ask},
            {"source": unfriendly, "target": ask, "relation": "contradicts", "if_exists": "update"},
            {"source": "0" * 16, "target": ask, "note": "whatever that was"},
        ]
    )
    assert [(error.position, error.code) for error in done.errors] == [
        (1, "self-loop"),
        (3, "block-not-found"),
    ]
    assert all(error.recovery for error in done.errors)
    assert done.created + done.updated == len(done.results) == 2
    assert memory.status().version == before + 2
    assert {(edge.source_id, edge.relation) for edge in memory.edges(ask)} == {
        (fast, "supports"),
        (unfriendly, "contradicts"),
    }
