"""Damage in the part of a log that is not read thanks to a checkpoint."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from mnemic.kernel.errors import LogCorrupt
from tests.adapters.checkpoints.conftest import Open
from tests.adapters.checkpoints.states import restored


def rot(opened: Open, path: Path) -> int:
    """Damage a record that a checkpoint covers, and return its version."""
    with opened() as memory:
        memory.learn_many(["the gate", "the crane", "the quay"])
        memory.consolidate()
        memory.checkpoint()
    with closing(sqlite3.connect(path)) as rows, rows:
        rows.execute(
            "UPDATE stored_events SET state = CAST(substr(state, 1, 40) || 'X' || "
            "substr(state, 42) AS BLOB) WHERE originator_version = 3"
        )
    return 3


def test_damage_before_a_checkpoint_is_found_by_reading_the_log(opened: Open, path: Path) -> None:
    rotten = rot(opened, path)
    with opened() as memory:
        assert restored(memory) is not None
        assert memory.verify().first_bad_version == rotten
        assert len(memory.recall("crane").blocks) > 0
        with pytest.raises(LogCorrupt):
            memory.fork("other")


def test_an_erasure_after_hidden_damage_is_refused(opened: Open, path: Path) -> None:
    """It replays the whole log again, which ends at the damage, and no checkpoint may stay."""
    rotten = rot(opened, path)
    with opened() as memory:
        before = memory.status()
        block = memory.blocks().items[0].id
        with pytest.raises(LogCorrupt, match="nothing was erased") as caught:
            memory.erase(block)
        assert caught.value.facts == {"version": rotten}
        assert memory.status() == before
        memory.learn("life goes on")
    with opened() as memory:
        assert memory.status().version == before.version + 1
        with pytest.raises(LogCorrupt, match=f"damaged at version {rotten}"):
            memory.erase_space("default")
    with opened(read_only=True) as memory:
        assert memory.status().version == rotten - 1
