"""Many documents are learned at once, each connected to its closest match."""

from __future__ import annotations

from mnemic.adapters.inprocess import SyncMemory

CENTRE = "Tea is an infusion of leaves in hot water"
DOCUMENTS = [
    f"{kind} tea is steeped for {minutes} minutes in water of {degrees} degrees"
    for minutes, degrees, kind in (
        (2, 70, "Green"),
        (4, 95, "Black"),
        (5, 85, "Oolong"),
        (7, 100, "Rooibos"),
        (3, 75, "White"),
        (6, 98, "Peppermint"),
        (8, 100, "Fennel"),
        (1, 60, "Gyokuro"),
        (3, 80, "Sencha"),
        (10, 100, "Ginger"),
        (4, 90, "Darjeeling"),
        (5, 96, "Assam"),
        (9, 99, "Hibiscus"),
        (3, 88, "Jasmine"),
        (2, 94, "Ceylon"),
        (6, 97, "Chamomile"),
    )
]


def read(memory: SyncMemory) -> list[str]:
    """Learn every document, connect it to the hub and its best match, and return the results."""
    centre = memory.learn(CENTRE).block_id
    actions = []
    for document in DOCUMENTS:
        learned = memory.learn(document, tags=["tea"])
        related = memory.recall(document, top_k=3)
        best = next((each.id for each in related.blocks if each.id != learned.block_id), centre)
        actions.append(memory.connect(learned.block_id, best, "elaborates").action)
        actions.append(memory.connect(learned.block_id, centre).action)
    return actions


def test_no_block_goes_over_the_cap_however_popular_it_is(memory: SyncMemory) -> None:
    memory.start_session()
    read(memory)
    blocks = memory.blocks(limit=1000).items
    degrees = [block.degree for block in blocks]
    assert max(degrees) == memory.policy.degree_cap
    assert sum(degrees) == 2 * memory.status().edges


def test_connections_without_room_are_deferred_and_reported(memory: SyncMemory) -> None:
    memory.start_session()
    actions = read(memory)
    assert set(actions) <= {"created", "reinforced", "deferred"}
    assert memory.status().pending_connections == len(set(memory.pending_connections()))
    assert actions.count("deferred") >= memory.status().pending_connections > 0


def test_reading_the_pile_twice_learns_nothing_twice(memory: SyncMemory) -> None:
    memory.start_session()
    read(memory)
    status = memory.status()
    known = [memory.learn(document).action for document in DOCUMENTS]
    assert set(known) <= {"restated", "reactivated"}
    assert memory.status().inbox == known.count("reactivated")
    assert memory.status().edges == status.edges
