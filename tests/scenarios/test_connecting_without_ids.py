"""Blocks are connected by descriptions, without ids."""

from __future__ import annotations

from mnemic.adapters.inprocess import SyncMemory
from tests.scenarios.conftest import Learn

BACKUP = "The nightly backup copies every database to the second data centre"
RESTORE = "A restore was last rehearsed in March and took forty minutes"
CANTEEN = "The canteen closes at half past two on Fridays"


def test_two_descriptions_replace_two_ids(memory: SyncMemory, learn: Learn) -> None:
    backup, restore, _ = learn(memory, BACKUP, RESTORE, CANTEEN)
    before = memory.status().version
    preview = memory.connect_by_query(
        "nightly backup of the databases",
        "when was a restore last rehearsed",
        "supports",
        min_confidence=0.5,
        dry_run=True,
    )
    assert (preview.action, preview.source_id, preview.target_id) == (
        "dry_run_preview",
        backup,
        restore,
    )
    assert (preview.source_content, preview.target_content) == (BACKUP, RESTORE)
    assert (preview.connect_result, memory.status().version) == (None, before)
    done = memory.connect_by_query(
        "nightly backup of the databases",
        "when was a restore last rehearsed",
        "supports",
        min_confidence=0.5,
        note="a backup is worth what its restore is worth",
    )
    assert done.action == "connected"
    assert done.connect_result is not None
    assert (done.connect_result.action, done.connect_result.weight) == ("created", 0.75)
    assert [(edge.source_id, edge.target_id, edge.relation) for edge in memory.edges(backup)] == [
        (backup, restore, "supports")
    ]


def test_a_query_without_a_match_is_not_connected_to_the_next_best_block(
    memory: SyncMemory, learn: Learn
) -> None:
    learn(memory, BACKUP, RESTORE, CANTEEN)
    before = memory.status().version
    tried = memory.connect_by_query(
        "nightly backup of the databases", "the colour of tropical birds"
    )
    assert (tried.action, tried.connect_result) == ("insufficient_confidence", None)
    assert tried.target_confidence < 0.7
    assert tried.source_content == BACKUP  # the match is reported nevertheless
    assert memory.status().version == before


def test_a_frame_restricts_what_a_description_may_match(memory: SyncMemory, learn: Learn) -> None:
    (mine,) = learn(memory, "I check every restore before I report it", tags=["self/value"])
    (restore,) = learn(memory, RESTORE)
    described = "I check every restore", "a restore was last rehearsed in March"
    anywhere = memory.connect_by_query(*described, dry_run=True)
    assert (anywhere.source_id, anywhere.target_id) == (mine, restore)
    framed = memory.connect_by_query(*described, frame="self", dry_run=True)
    assert {framed.source_id, framed.target_id} == {mine}
    assert framed.action == "insufficient_confidence"  # one block is not two


def test_matching_is_not_a_recall(memory: SyncMemory, learn: Learn) -> None:
    backup, restore, _ = learn(memory, BACKUP, RESTORE, CANTEEN)
    memory.connect_by_query(BACKUP, RESTORE)
    assert [memory.block(block).retrievals for block in (backup, restore)] == [0, 0]
    assert memory.status().decisions == 0
