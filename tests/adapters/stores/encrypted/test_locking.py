"""What is encrypted, what decrypts it, and the errors for missing or wrong keys."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TypeAlias

import pytest

from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.sqlite import SQLiteStore
from mnemic.kernel.errors import KeysMissing, LogCorrupt, MnemicError, NotEncrypted

Open: TypeAlias = Callable[..., SyncMemory]

STORY = "the vault code is mellifluous zanzibar"


def refusal(call: Callable[[], object]) -> MnemicError:
    with pytest.raises(MnemicError) as caught:
        call()
    assert caught.value.recovery
    return caught.value


def held(folder: Path) -> bytes:
    """Return the content of all files of *folder*."""
    return b"".join(file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file())


def test_no_plain_text_is_in_the_store(opened: Open, path: Path) -> None:
    memory = opened()
    block = memory.learn(STORY, tags=["conspiracy"], author="Wilhelmina").block_id
    memory.learn("the garden code is four")
    memory.consolidate()
    memory.recall("where is the mellifluous vault")
    with closing(SQLiteStore(path, read_only=True)) as store:
        rows = [row for _, rows in store.log("default").read() for row in rows]
    assert memory.block(block).content == STORY
    for word in (b"mellifluous", b"zanzibar", b"conspiracy", b"Wilhelmina", b"garden"):
        assert word not in held(path.parent)
    assert len({row.data[:12] for row in rows}) == len(rows) > 4  # no nonce twice


def test_the_log_is_identical_with_and_without_keys(opened: Open, tmp_path: Path) -> None:
    """The chain is over records, which are stored unencrypted."""
    locked = opened()
    locked.learn(STORY)
    there = tmp_path / "plain.db"
    locked.export(tmp_path / "export.jsonl")
    SyncMemory.import_space(tmp_path / "export.jsonl", there)
    plain = opened(there, keys=None)
    assert plain.verify() == locked.verify()
    assert plain.block(plain.blocks().items[0].id).content == STORY


def test_encrypted_text_is_readable_after_reopening(opened: Open) -> None:
    first = opened()
    block = first.learn(STORY).block_id
    first.consolidate()
    first.close()
    again = opened(read_only=True)
    assert again.recall("vault", record=False).block_ids == (block,)
    assert again.verify().sound


def test_two_handles_read_what_the_other_encrypted(opened: Open) -> None:
    one, two = opened(), opened()
    first = one.learn("first").block_id
    assert two.block(first).content == "first"
    second = two.learn("second").block_id
    assert one.block(second).content == "second"


def test_opening_without_keys_reports_missing_keys(opened: Open, path: Path) -> None:
    opened().learn(STORY)
    for read_only in (False, True):
        error = refusal(lambda: opened(path, keys=None, read_only=read_only))  # noqa: B023
        assert (type(error), error.code) == (KeysMissing, "keys-missing")


def test_the_keys_of_another_store_do_not_open_it(opened: Open, tmp_path: Path, path: Path) -> None:
    opened().learn(STORY)
    opened(tmp_path / "other.db", keys=tmp_path / "other.keys").learn("something else")
    said = {"other.keys": "does not have a key", "none.keys": "there is no file of keys"}
    for name, message in said.items():
        error = refusal(lambda: opened(path, keys=tmp_path / name))  # noqa: B023
        assert (type(error), error.facts["path"]) == (KeysMissing, str(tmp_path / name))
        assert message in error.message
    assert not (tmp_path / "none.keys").exists()


def test_an_older_copy_of_the_keys_is_distinguished_from_damage(
    opened: Open, keys: Path, tmp_path: Path
) -> None:
    memory = opened()
    memory.learn(STORY)
    copy = tmp_path / "copy.keys"
    with closing(sqlite3.connect(keys)) as source, closing(sqlite3.connect(copy)) as target:
        source.backup(target)
    copy.chmod(0o600)
    memory.learn("locked with a key that the copy does not have")
    error = refusal(lambda: opened(keys=copy))
    assert type(error) is KeysMissing
    assert "older copy" in error.recovery


def test_an_unencrypted_space_cannot_be_opened_with_keys(
    opened: Open, tmp_path: Path, keys: Path
) -> None:
    plain = tmp_path / "plain.db"
    opened(plain, keys=None).learn("in the open")
    assert type(refusal(lambda: opened(plain))) is NotEncrypted
    assert not keys.exists()
    assert opened(plain, keys=None).blocks().items[0].content == "in the open"


def test_a_store_does_not_mix_encrypted_and_plain_spaces(
    opened: Open, tmp_path: Path, path: Path
) -> None:
    memory = opened()
    memory.learn(STORY)
    memory.export(tmp_path / "export.jsonl")
    assert type(refusal(lambda: opened(space="other", keys=None))) is KeysMissing
    with closing(SQLiteStore(path, read_only=True)) as store:
        assert store.spaces() == ("default",)
    brought = partial(SyncMemory.import_space, tmp_path / "export.jsonl", path, space="other")
    assert type(refusal(brought)) is KeysMissing
    plain = tmp_path / "plain.db"
    opened(plain, keys=None).learn("in the open")
    assert type(refusal(lambda: opened(plain, space="other"))) is NotEncrypted
    assert opened(space="other").learn("locked").action == "created"


def test_spaces_of_one_store_have_keys_of_their_own(opened: Open) -> None:
    one, two = opened(space="one"), opened(space="two")
    first, second = one.learn(STORY).block_id, two.learn(STORY).block_id
    one.erase_space("one")
    assert one.blocks().items[0].content is None
    assert two.block(second).content == STORY
    assert first != second


def test_a_changed_ciphertext_is_damage_at_its_version(opened: Open, path: Path) -> None:
    memory = opened()
    memory.learn("sound")
    version = memory.status().version + 1
    memory.learn(STORY)
    memory.close()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            "UPDATE contents SET data = zeroblob(length(data)) WHERE id = (SELECT max(id) "
            "FROM contents)"
        )
    error = refusal(opened)
    assert (type(error), error.facts["version"]) == (LogCorrupt, version)
    assert [block.content for block in opened(read_only=True).blocks().items] == ["sound"]


def test_a_row_moved_to_another_position_is_damage(opened: Open, path: Path) -> None:
    memory = opened()
    memory.learn("first of two")
    memory.learn("other of two")
    memory.close()
    with closing(sqlite3.connect(path)) as connection, connection:
        (older, newer) = connection.execute(
            "SELECT content FROM payloads ORDER BY version DESC LIMIT 2"
        ).fetchall()
        connection.execute("UPDATE payloads SET content = -1 WHERE content = ?", newer)
        connection.execute("UPDATE payloads SET content = ? WHERE content = ?", (*newer, *older))
        connection.execute("UPDATE payloads SET content = ? WHERE content = -1", older)
    assert type(refusal(opened)) is LogCorrupt


def test_a_fork_is_encrypted_with_its_own_keys(opened: Open, path: Path) -> None:
    memory = opened()
    block = memory.learn(STORY).block_id
    memory.fork("trial")
    memory.erase(block)
    assert opened(space="trial").block(block).content == STORY
    assert b"zanzibar" not in held(path.parent)


def test_a_fork_into_a_file_uses_the_same_key_table(opened: Open, tmp_path: Path) -> None:
    memory = opened()
    block = memory.learn(STORY).block_id
    there = tmp_path / "forks" / "trial.db"
    there.parent.mkdir()
    memory.fork("trial", into=there)
    assert b"zanzibar" not in held(there.parent)
    assert opened(there, space="trial").block(block).content == STORY
    opened(there, space="trial").erase(block)
    assert memory.block(block).content == STORY


def test_an_export_can_be_imported_with_keys(opened: Open, tmp_path: Path) -> None:
    memory = opened()
    block = memory.learn(STORY).block_id
    memory.export(tmp_path / "export.jsonl")
    there = tmp_path / "back" / "agent.db"
    there.parent.mkdir()
    SyncMemory.import_space(tmp_path / "export.jsonl", there, keys=tmp_path / "back.keys")
    assert b"zanzibar" not in held(there.parent)
    assert opened(there, keys=tmp_path / "back.keys").block(block).content == STORY


def test_keys_are_accepted_with_an_address_and_not_with_an_open_store(
    keys: Path, path: Path
) -> None:
    with closing(SQLiteStore(path)) as store:
        error = refusal(lambda: SyncMemory.open(store, keys=keys))
    assert (error.code, error.facts["field"]) == ("field-refused", "keys")


def test_nothing_is_encrypted_after_the_key_file_was_removed(opened: Open, keys: Path) -> None:
    """They would go with this process, and every word that was acknowledged since with them."""
    memory = opened()
    memory.start_session()
    version = memory.status().version
    moved = [file.rename(file.with_name(f"moved-{file.name}")) for file in keys.parent.iterdir()]
    assert "was moved" in refusal(lambda: memory.learn(STORY)).message
    keys.touch(mode=0o600)
    assert "was moved" in refusal(lambda: memory.learn(STORY)).message
    for file in moved:
        file.replace(file.with_name(file.name.removeprefix("moved-")))
    assert memory.status().version == version
    assert memory.learn(STORY).action == "created"


@pytest.mark.parametrize("table", ["spaces", "secrets", "keys", "erasures", "doomed"])
def test_a_damaged_key_file_is_not_reported_as_a_damaged_store(
    opened: Open, keys: Path, table: str
) -> None:
    """Otherwise the store would be salvaged, where nothing is wrong."""
    with opened() as memory:
        memory.learn(STORY)
    with closing(sqlite3.connect(keys)) as connection:
        connection.execute(f"ALTER TABLE {table} RENAME TO lost")
    assert "agent.keys is damaged" in refusal(opened).message


def test_a_key_file_with_other_content_is_named(opened: Open, keys: Path) -> None:
    with opened() as memory:
        memory.learn(STORY)
    with closing(sqlite3.connect(keys)) as connection, connection:
        connection.execute("UPDATE keys SET space = 'no number'")
    assert "agent.keys is damaged" in refusal(opened).message


@pytest.mark.parametrize("change", ["owner = 'x' || owner", "space = space + 1"])
def test_a_key_with_a_wrong_owner_is_damage(opened: Open, keys: Path, change: str) -> None:
    """An erasure of the owner would leave it unchanged, and report that all is gone."""
    with opened() as memory:
        memory.learn(STORY)
    with closing(sqlite3.connect(keys)) as connection, connection:
        connection.execute(f"UPDATE keys SET {change}")  # noqa: S608
    assert "agent.keys is damaged" in refusal(opened).message
