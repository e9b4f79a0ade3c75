"""Backups and copies of an encrypted store need no keys, and contain no plain text."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TypeAlias

import pytest

from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.encrypted import EncryptedStore, KeyTable
from mnemic.adapters.stores.sqlite import SQLiteStore
from mnemic.adapters.transfer.backup import backup, restore
from mnemic.adapters.transfer.migration import migrate
from mnemic.adapters.transfer.salvage import salvage
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


def test_an_encrypted_store_is_migrated_encrypted(opened: Open, path: Path, tmp_path: Path) -> None:
    memory = opened()
    block = memory.learn(STORY).block_id
    opened(space="second").learn("in another space")
    migrate(path, tmp_path / "moved.db")
    assert b"zanzibar" not in (tmp_path / "moved.db").read_bytes()
    assert opened(tmp_path / "moved.db").block(block).content == STORY


def test_migration_can_encrypt_a_store(opened: Open, tmp_path: Path, keys: Path) -> None:
    plain, there = tmp_path / "plain.db", tmp_path / "locked.db"
    memory = opened(plain, keys=None)
    block = memory.learn(STORY).block_id
    with closing(EncryptedStore(SQLiteStore(there), KeyTable(keys))) as target:
        migrate(plain, target)
    assert b"zanzibar" not in there.read_bytes()
    locked = opened(there)
    assert (locked.block(block).content, locked.verify()) == (STORY, memory.verify())


def test_migration_with_keys_encrypts_plain_text_once(
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


def test_encrypted_text_is_not_encrypted_twice(opened: Open, path: Path, tmp_path: Path) -> None:
    opened().learn(STORY)
    other = KeyTable(tmp_path / "other.keys")
    with (
        closing(EncryptedStore(SQLiteStore(tmp_path / "there.db"), other)) as target,
        pytest.raises(KeysMissing, match="encrypted already"),
    ):
        migrate(path, target)


def test_plain_text_is_not_copied_into_an_encrypted_space(
    opened: Open, tmp_path: Path, keys: Path
) -> None:
    """Once it was migrated with keys, later events are not migrated without."""
    plain, there = tmp_path / "plain.db", tmp_path / "locked.db"
    memory = opened(plain, keys=None)
    block = memory.learn("stays").block_id
    with closing(EncryptedStore(SQLiteStore(there), KeyTable(keys))) as target:
        migrate(plain, target)
    memory.learn(STORY)
    with pytest.raises(KeysMissing, match="would not be"):
        migrate(plain, there)
    assert b"zanzibar" not in there.read_bytes()
    assert opened(there).block(block).content == "stays"


def test_plain_spaces_are_not_copied_into_an_encrypted_store(
    opened: Open, path: Path, tmp_path: Path
) -> None:
    plain = opened(tmp_path / "plain.db", keys=None, space="open")
    plain.learn(STORY)
    plain.export(tmp_path / "open.jsonl")
    opened().learn("locked")
    for carry in (
        lambda: migrate(tmp_path / "plain.db", path),
        lambda: SyncMemory.import_space(tmp_path / "open.jsonl", path, space="open"),
        lambda: plain.fork("open", into=path),
    ):
        with pytest.raises(KeysMissing, match="would not be"):
            carry()
    assert b"zanzibar" not in path.read_bytes()


def test_encrypted_spaces_are_not_copied_into_a_plain_store(
    opened: Open, path: Path, tmp_path: Path
) -> None:
    opened(space="locked").learn(STORY)
    opened(tmp_path / "plain.db", keys=None).learn("open")
    with pytest.raises(NotEncrypted):
        migrate(path, tmp_path / "plain.db")


def test_a_backup_of_an_open_encrypted_store_has_no_plain_text(
    path: Path, keys: Path, opened: Open, tmp_path: Path
) -> None:
    block = opened().learn(STORY).block_id
    with closing(EncryptedStore(SQLiteStore(path), KeyTable(keys))) as store:
        backup(store, tmp_path / "backup.db")
    assert b"zanzibar" not in (tmp_path / "backup.db").read_bytes()
    assert opened(tmp_path / "backup.db").block(block).content == STORY


@pytest.mark.parametrize("column", ["key", "data"])
def test_a_damaged_store_is_salvaged_with_its_keys_and_stays_encrypted(
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
            f"UPDATE contents SET {column} = CAST(CASE substr({column}, 1, 1) WHEN x'78' "  # noqa: S608
            f"THEN 'y' ELSE 'x' END || substr({column}, 2) AS BLOB) "
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
