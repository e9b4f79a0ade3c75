"""Rows on replay, order, damage and views of the past: the log alone is sufficient."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.inprocess.queries import Queries
from mnemic.adapters.system.clocks import ManualClock
from mnemic.adapters.system.entropy import SeededEntropy
from mnemic.kernel.errors import LogCorrupt
from mnemic.specs.rules import Row, rows
from tests.specs.rules.scenario_steps import Stage, played

LEFT = ("source_id", "target_id", "relation", "effective_weight")


@pytest.mark.parametrize("row", rows("log.replay"), ids=str)
def test_replaying_the_log_gives_the_same_state(row: Row) -> None:
    played(row)


@pytest.mark.parametrize("row", rows("log.order"), ids=str)
def test_the_order_is_that_of_versions_and_not_of_the_wall_clock(row: Row) -> None:
    played(row)


@pytest.mark.parametrize("row", rows("log.refusals"), ids=str)
def test_a_refusal_writes_nothing_to_the_log(row: Row) -> None:
    played(row)


@pytest.mark.parametrize("row", rows("log.damage"), ids=str)
def test_a_damaged_log_is_named_and_its_prefix_can_be_read(row: Row, tmp_path: Path) -> None:
    path, blocks = tmp_path / "agent.db", row.given["blocks"]
    with opened(path) as memory:
        for number in range(blocks):
            memory.learn(f"block {number}")
        first = memory.status().version - blocks
    damage(path, row, first)
    if "code" in row.then:
        with pytest.raises(LogCorrupt) as corrupt:
            opened(path)
        assert corrupt.value.code == row.then["code"]
        assert corrupt.value.facts["version"] == first + row.then["version"]
    with opened(path, read_only=True) as memory:
        readable = [block.content for block in memory.blocks().items]
    assert readable == [f"block {number}" for number in range(row.then["readable"])]


@pytest.mark.parametrize("row", rows("log.as-of"), ids=str)
def test_a_past_view_equals_what_was_observed_then(row: Row) -> None:
    stage, observed = Stage(row), {}
    for step in row.given["steps"]:
        stage.play([step])
        if step[0] != "wait":  # time alone writes nothing, so the log has no such point
            observed[stage.version] = everything(stage.memory)
    for version, seen in observed.items():
        assert everything(stage.memory.as_of(version=version)) == seen
    for hour, edges in row.then["hours"]:
        then = stage.memory.as_of(hour=hour)
        assert (
            stage.edges("source_id", "target_id", "relation", "effective_weight", at=then) == edges
        )
    assert stage.state()


def everything(at: Queries) -> dict[str, Any]:
    """Return the answers of all queries of blocks and edges."""
    return {
        "blocks": at.blocks(limit=1000),
        "edges": [at.edges(block.id) for block in at.blocks(limit=1000).items],
        "pending": at.pending_connections(),
        "near": at.near_duplicates(),
        "hour": at.status().hour,
    }


def opened(path: Path, *, read_only: bool = False) -> SyncMemory:
    return SyncMemory.open(
        path,
        clock=ManualClock(),
        embedder=HashEmbedder(),
        entropy=SeededEntropy("log"),
        synchronous="normal",
        read_only=read_only,
    )


def damage(path: Path, row: Row, first: int) -> None:
    """Damage the file as the row says, counting from the version before the first block."""
    edits = {
        "flipped": (
            "UPDATE stored_events SET state = CAST(substr(state, 1, 40) || X'21' || "
            "substr(state, 42) AS BLOB) WHERE originator_version = ?"
        ),
        "cut": "DELETE FROM stored_events WHERE originator_version >= ?",
    }
    with closing(sqlite3.connect(path)) as connection, connection:
        for what, statement in edits.items():
            if what in row.given:
                connection.execute(statement, (first + row.given[what],))
