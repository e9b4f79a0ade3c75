"""Encrypted logs that are put back under an open process, keys and erasures included."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.kernel.errors import HistoryReplaced


def opened(path: Path) -> SyncMemory:
    keys = path.with_suffix(".keys")
    return SyncMemory.open(path, embedder=HashEmbedder(16), keys=keys, checkpoints=False)


def copied(source: Path, target: Path) -> None:
    with closing(sqlite3.connect(source)) as one, closing(sqlite3.connect(target)) as two:
        one.backup(two)


def texts(memory: SyncMemory) -> set[str]:
    return {each.content for each in memory.blocks(limit=100).items if each.content is not None}


@pytest.mark.parametrize("lost", ["a text", "an erasure", "both"])
def test_an_encrypted_log_that_was_put_back_is_another_history(tmp_path: Path, lost: str) -> None:
    path, backup = tmp_path / "agent.db", tmp_path / "backup.db"
    with opened(path) as memory:
        kept, erased = memory.learn("kept").block_id, memory.learn("erased").block_id
        copied(path, backup)
        if lost != "an erasure":
            memory.learn("lost")
        if lost != "a text":
            memory.erase(erased)
        copied(backup, path)
        path.with_name(f"{path.name}.heads").unlink()
        with pytest.raises(HistoryReplaced) as replaced:
            memory.learn("decided on the lost past")
        assert replaced.value.facts["version"] == 4
        memory.learn("after")
        expected = {"kept", "after"} if lost != "a text" else {"kept", "erased", "after"}
        assert texts(memory) == expected
        assert memory.block(kept).content == "kept"
    with opened(path) as memory:
        assert memory.verify().sound
        assert texts(memory) == expected
