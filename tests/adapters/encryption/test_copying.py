"""Backups and copies of an encrypted store take no keys, and show no word."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TypeAlias

import pytest

from mnemic.adapters.encryption import EncryptedStore, KeyTable
from mnemic.adapters.exchange.backups import backup, restore
from mnemic.adapters.exchange.migrating import migrate
from mnemic.adapters.exchange.salvage import salvage
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.sqlite import SQLiteStore
from mnemic.kernel.errors import KeysMissing, NotEncrypted

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


def test_keys_that_are_named_lock_what_stood_open_and_nothing_twice(
    opened: Open, tmp_path: Path, keys: Path
) -> None:
    plain, there, further = (tmp_path / f"{name}.db" for name in ("plain", "there", "further"))
    memory = opened(plain, keys=None)
    block = memory.learn(STORY).block_id
    migrate(plain, there, keys=keys)
    memory.learn("zanzibar again")
    assert migrate(plain, there, keys=keys, dry_run=True).spaces[0].copied > 0
    migrate(plain, there, keys=keys)
    migrate(there, further, keys=keys)
    for each in (there, further):
        assert b"zanzibar" not in each.read_bytes()
        assert opened(each).block(block).content == STORY


def test_what_is_locked_is_not_locked_twice(opened: Open, path: Path, tmp_path: Path) -> None:
    opened().learn(STORY)
    other = KeyTable(tmp_path / "other.keys")
    with (
        closing(EncryptedStore(SQLiteStore(tmp_path / "there.db"), other)) as target,
        pytest.raises(KeysMissing, match="locked already"),
    ):
        migrate(path, target)


def test_open_words_go_into_no_locked_space(opened: Open, tmp_path: Path, keys: Path) -> None:
    """Once it was moved there with keys, what came since is not moved there without."""
    plain, there = tmp_path / "plain.db", tmp_path / "locked.db"
    memory = opened(plain, keys=None)
    block = memory.learn("stays").block_id
    with closing(EncryptedStore(SQLiteStore(there), KeyTable(keys))) as target:
        migrate(plain, target)
    memory.learn(STORY)
    with pytest.raises(KeysMissing, match="stand open"):
        migrate(plain, there)
    assert b"zanzibar" not in there.read_bytes()
    assert opened(there).block(block).content == "stays"


def test_open_spaces_go_into_no_locked_store(opened: Open, path: Path, tmp_path: Path) -> None:
    plain = opened(tmp_path / "plain.db", keys=None, space="open")
    plain.learn(STORY)
    plain.export(tmp_path / "open.jsonl")
    opened().learn("locked")
    for carry in (
        lambda: migrate(tmp_path / "plain.db", path),
        lambda: SyncMemory.import_space(tmp_path / "open.jsonl", path, space="open"),
        lambda: plain.fork("open", into=path),
    ):
        with pytest.raises(KeysMissing, match="stand open"):
            carry()
    assert b"zanzibar" not in path.read_bytes()


def test_locked_spaces_go_into_no_open_store(opened: Open, path: Path, tmp_path: Path) -> None:
    opened(space="locked").learn(STORY)
    opened(tmp_path / "plain.db", keys=None).learn("open")
    with pytest.raises(NotEncrypted):
        migrate(path, tmp_path / "plain.db")


def test_a_backup_of_a_store_that_is_open_with_its_keys_shows_no_word(
    path: Path, keys: Path, opened: Open, tmp_path: Path
) -> None:
    block = opened().learn(STORY).block_id
    with closing(EncryptedStore(SQLiteStore(path), KeyTable(keys))) as store:
        backup(store, tmp_path / "backup.db")
    assert b"zanzibar" not in (tmp_path / "backup.db").read_bytes()
    assert opened(tmp_path / "backup.db").block(block).content == STORY


@pytest.mark.parametrize("column", ["key", "data"])
def test_a_damaged_store_is_salvaged_with_its_keys_and_stays_locked(
    opened: Open, path: Path, keys: Path, column: str
) -> None:
    memory = opened(checkpoints=False)
    hit, gone, other = (
        memory.learn(text).block_id for text in (STORY, "goes later", "zanzibar stays")
    )
    backup, copy = path.with_name("backup.db"), path.with_name("saved.db")
    memory.close()
    shutil.copy(path, backup)
    opened().erase(gone)  # no damage, though nobody can read it in the backup either
    with closing(sqlite3.connect(backup)) as connection, connection:
        connection.execute(
            f"UPDATE contents SET {column} = CAST('x' || substr({column}, 2) AS BLOB) "  # noqa: S608
            "WHERE id IN (SELECT content FROM payloads WHERE owner = ?)",
            (hit,),
        )
    with pytest.raises(KeysMissing):
        salvage(backup, path.with_name("unsaved.db"))
    (saved,) = salvage(backup, copy, keys=keys).spaces
    assert (saved.lost, saved.erased) == (0, (hit,))
    assert b"zanzibar" not in copy.read_bytes()
    after = opened(copy, checkpoints=False)
    assert [after.block(each).content for each in (hit, gone, other)] == [
        None,
        None,
        "zanzibar stays",
    ]
    assert after.verify().sound
