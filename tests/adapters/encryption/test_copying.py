"""Backups and copies of an encrypted store take no keys, and show no word."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TypeAlias

from mnemic.adapters.encryption import EncryptedStore, KeyTable
from mnemic.adapters.exchange.backups import backup, restore
from mnemic.adapters.exchange.migrating import migrate
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.sqlite import SQLiteStore

Open: TypeAlias = Callable[..., SyncMemory]

STORY = "the vault code is mellifluous zanzibar"


def test_a_backup_is_made_and_restored_without_keys_and_opens_with_them(
    opened: Open, path: Path, tmp_path: Path
) -> None:
    memory = opened()
    block, other = memory.learn(STORY).block_id, memory.learn("stays").block_id
    opened(space="second").learn("in another space")
    backup(path, tmp_path / "backup.db")
    memory.erase(block)
    restore(tmp_path / "backup.db", tmp_path / "restored.db")
    assert b"zanzibar" not in (tmp_path / "backup.db").read_bytes()
    back = opened(tmp_path / "restored.db")
    assert (back.block(block).content, back.block(other).content) == (None, "stays")
    assert back.verify().sound


def test_a_store_is_moved_as_it_is_locked(opened: Open, path: Path, tmp_path: Path) -> None:
    memory = opened()
    block = memory.learn(STORY).block_id
    opened(space="second").learn("in another space")
    migrate(path, tmp_path / "moved.db")
    assert b"zanzibar" not in (tmp_path / "moved.db").read_bytes()
    assert opened(tmp_path / "moved.db").block(block).content == STORY


def test_an_open_store_is_locked_by_moving_it(opened: Open, tmp_path: Path, keys: Path) -> None:
    plain, there = tmp_path / "plain.db", tmp_path / "locked.db"
    memory = opened(plain, keys=None)
    block = memory.learn(STORY).block_id
    with closing(EncryptedStore(SQLiteStore(there), KeyTable(keys))) as target:
        migrate(plain, target)
    assert b"zanzibar" not in there.read_bytes()
    locked = opened(there)
    assert (locked.block(block).content, locked.verify()) == (STORY, memory.verify())
