"""Erasing with encryption: row and key are destroyed, so that no copy of the row is readable."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TypeAlias

import pytest

from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.encrypted.erasures import Account
from mnemic.adapters.stores.encrypted.keys import KeyHolding, KeyTable
from mnemic.adapters.stores.encrypted.store import EncryptedStore
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.stores.opening import open_store
from mnemic.kernel.errors import CommandIdReused, FieldRefused, StoreFailed
from mnemic.kernel.ports import PayloadRow, Record

Open: TypeAlias = Callable[..., SyncMemory]

STORY = "the vault code is mellifluous zanzibar"


def secrets_of(keys: Path) -> dict[str, bytes]:
    """Return the secrets in a table of keys, by owner."""
    with closing(sqlite3.connect(keys)) as connection:
        return dict(
            connection.execute("SELECT owner, secret FROM keys JOIN secrets USING (id) ORDER BY id")
        )


def held(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file())


def copied(path: Path, name: str) -> Path:
    """Return a backup of the store, made while it is open."""
    backup = path.with_name(name)
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(backup)) as target:
        source.backup(target)
    return backup


def busy(memory: SyncMemory) -> tuple[str, str]:
    """Write a history in which a secret touches everything, and return it and a neighbour."""
    memory.start_session()
    secret = memory.learn(STORY, tags=["conspiracy"], author="Wilhelmina").block_id
    other = memory.learn("the garden code is four").block_id
    memory.learn_many([f"unrelated note number {n}" for n in range(5)])
    memory.consolidate()
    memory.connect(secret, other, "supports", note="whispered by the gate", if_exists="update")
    memory.recall("what is the vault code")
    memory.outcome([secret, other], 1.0)
    return secret, other


def test_an_erasure_destroys_its_key_and_no_other(opened: Open, keys: Path) -> None:
    memory = opened()
    secret, other = busy(memory)
    before = secrets_of(keys)
    assert memory.erase(secret).left == ()
    after = secrets_of(keys)
    assert after == before | {secret: bytes(32)}
    assert before[secret] not in held(keys.parent)
    assert memory.block(other).content == "the garden code is four"
    assert memory.verify().sound


def test_an_erased_space_leaves_no_key(opened: Open, keys: Path) -> None:
    one, two = opened(space="one"), opened(space="two")
    busy(one)
    kept = two.learn("the other space keeps its words").block_id
    before = secrets_of(keys)
    one.erase_space("one")
    with closing(KeyTable(keys, read_only=True)) as table:
        assert table.holdings() == (
            KeyHolding(space="one", live=0, erased=8),
            KeyHolding(space="two", live=2, erased=0),
        )
    gone = [secret for owner, secret in before.items() if owner not in {kept, ""}]
    assert len(gone) == 7
    assert [secret for secret in gone if secret in held(keys.parent)] == []
    assert two.block(kept).content == "the other space keeps its words"


def test_thousands_of_keys_leave_no_copy_when_their_pages_split(tmp_path: Path) -> None:
    """Secrets are overwritten in place, so none of them may ever have moved."""
    with closing(KeyTable(tmp_path / "agent.keys")) as table:
        space = table.begin("home", b"genesis")
        made: dict[str, bytes] = {}
        for batch in range(40):
            owners = {f"{batch}-{each}" for each in range(100)}
            made |= {owner: key.secret for owner, key in table.keys(space, owners).items()}
        gone = sorted(made)[::3]
        for start in range(0, len(gone), 100):
            account = Account(start, b"digest")
            table.fulfil(table.intend(space, gone[start : start + 100], account))
        stored = held(tmp_path)
        assert [owner for owner in gone if made[owner] in stored] == []
        assert table.keys(space, made.keys() - gone) == {
            owner: table.keys(space, {owner})[owner] for owner in made.keys() - gone
        }
        assert {made[owner] in stored for owner in made.keys() - gone} == {True}


def test_erased_text_can_be_learned_again_with_a_new_key(opened: Open, path: Path) -> None:
    memory = opened()
    secret, _ = busy(memory)
    memory.erase(secret)
    backup = copied(path, "backup.db")
    assert memory.learn(STORY, author="Wilhelmina").block_id == secret
    memory.consolidate()
    memory.close()
    again = opened()
    assert again.block(secret).content == STORY
    assert again.recall("vault", record=False).block_ids[0] == secret
    again.erase(secret)
    assert opened(backup).block(secret).content is None
    assert again.verify().sound


def test_a_payload_of_an_event_alone_cannot_be_erased(opened: Open, path: Path, keys: Path) -> None:
    """The query of a recall is erased with its space: it has no key of its own."""
    opened().learn(STORY)
    with closing(open_store(path, keys=keys)) as store:
        log = store.log("default")
        head = log.head()
        with pytest.raises(FieldRefused, match="has no key of its own"):
            log.append((), (), after=log.head(), erase=["e0"])
        assert log.head() == head


def test_a_reader_in_another_process_drops_the_erased_text(opened: Open) -> None:
    memory, other = opened(), opened(read_only=True)
    secret, _ = busy(memory)
    assert other.block(secret).content == STORY
    memory.erase(secret)
    assert other.block(secret).content is None
    assert "zanzibar" not in other.recall("vault code", record=False).text
    assert "zanzibar" not in str(other.as_of(version=memory.status().version - 1).history())


# --- backups --------------------------------------------------------------------------------------


def test_an_earlier_backup_shows_the_block_as_erased_and_the_rest_whole(
    opened: Open, path: Path
) -> None:
    memory = opened()
    secret, other = busy(memory)
    decision = str(memory.recall("vault code").decision_id)
    receipt = memory.receipt(decision)
    backup = copied(path, "backup.db")
    before = memory.status().version
    memory.erase(secret)
    restored = opened(backup)
    gone = restored.block(secret)
    assert (gone.content, gone.status, gone.archive_reason) == (None, "archived", "erased")
    assert restored.block(other).content == "the garden code is four"
    assert [edge.note for edge in restored.edges(other)] == []
    checked = restored.verify()
    assert (checked.sound, checked.events, checked.erased_payloads) == (True, before + 2, 3)
    assert restored.verify_receipt(receipt).verdict == "confirmed"
    assert restored.replay(decision).outcome == "sealed"
    assert restored.as_of(version=before).block(secret).content is None
    assert restored.learn("a backup goes on as a memory").action == "created"
    again = opened(backup)
    assert again.status().version == restored.status().version


def test_an_earlier_backup_opened_read_only_shows_the_same_unchanged(
    opened: Open, path: Path
) -> None:
    memory = opened()
    secret, other = busy(memory)
    before = memory.status()
    backup = copied(path, "backup.db")
    memory.erase(secret)
    stored = backup.read_bytes()
    one, two = opened(backup, read_only=True), opened(backup, read_only=True)
    assert one.block(secret).archive_reason == "erased"
    assert one.block(other).content == "the garden code is four"
    checked = one.verify()
    assert (checked.sound, checked.events) == (True, before.version + 2)
    assert two.verify() == checked
    assert "zanzibar" not in one.recall("vault code", record=False).text
    assert backup.read_bytes() == stored


def test_a_backup_of_an_erased_space_is_erased(opened: Open, path: Path) -> None:
    memory = opened()
    secret, _ = busy(memory)
    backup = copied(path, "backup.db")
    memory.erase_space("default")
    looked = opened(backup, read_only=True)
    assert {block.content for block in looked.blocks().items} == {None}
    assert looked.status().alerts
    restored = opened(backup)
    assert restored.verify().sound
    assert restored.verify().payloads == 0
    assert restored.block(secret).content is None


def test_erasing_in_a_backup_reaches_the_live_store(opened: Open, path: Path) -> None:
    """They are one space: an erasure in one erases in all."""
    memory = opened()
    secret, other = busy(memory)
    backup = copied(path, "backup.db")
    memory.close()
    opened(backup).erase(secret)
    live = opened()
    assert live.block(secret).archive_reason == "erased"
    assert live.block(other).content == "the garden code is four"
    assert live.verify().sound


def test_a_restored_backup_leaves_alone_what_was_learned_again(opened: Open, path: Path) -> None:
    memory = opened()
    secret, _ = busy(memory)
    backup = copied(path, "backup.db")
    memory.erase(secret)
    memory.learn(STORY, author="Wilhelmina")
    assert opened(backup).block(secret).content is None
    memory.close()
    assert opened().block(secret).content == STORY


def test_a_later_backup_needs_no_added_erasure(opened: Open, path: Path) -> None:
    memory = opened()
    secret, _ = busy(memory)
    memory.erase(secret)
    backup = copied(path, "backup.db")
    version = memory.status().version
    assert opened(backup).status().version == version


def test_every_copy_of_a_copy_records_the_erasure_once(opened: Open, path: Path) -> None:
    memory = opened()
    secret, _ = busy(memory)
    first, second = copied(path, "first.db"), copied(path, "second.db")
    memory.erase(secret)
    versions = [opened(each).status().version for each in (first, second, first, second)]
    assert versions == [memory.status().version] * 4


def test_an_old_copy_of_the_keys_decrypts_an_old_backup(
    opened: Open, path: Path, keys: Path
) -> None:
    """The limit of the guarantee, and why copies of the keys are to be replaced."""
    memory = opened()
    secret, _ = busy(memory)
    backup = copied(path, "backup.db")
    memory.close()
    old = keys.with_name("old.keys")
    shutil.copy(keys, old)
    opened().erase(secret)
    assert opened(backup, keys=old, read_only=True).block(secret).content == STORY


def test_a_lost_key_is_not_reported_as_erased(opened: Open, path: Path, keys: Path) -> None:
    """Not even if it is zeroed, and not even where other erasures have to be recorded."""
    memory = opened(checkpoints=False)
    secret, other = busy(memory)
    backup = copied(path, "backup.db")
    memory.erase(other)
    memory.close()
    with closing(sqlite3.connect(keys)) as connection, connection:
        connection.execute(
            "UPDATE secrets SET secret = zeroblob(32) "
            "WHERE id IN (SELECT id FROM keys WHERE owner = ?)",
            (secret,),
        )
    stored = backup.read_bytes()
    for place in (path, backup):
        with pytest.raises(StoreFailed, match="is damaged"):
            opened(place)
    assert backup.read_bytes() == stored


def test_a_reader_notices_an_erasure_completed_after_a_later_one(keys: Path) -> None:
    with closing(KeyTable(keys)) as table, closing(KeyTable(keys)) as reader:
        space = table.begin("home", b"genesis")
        made = table.keys(space, {"a", "b"})
        slow = table.intend(space, {"a"}, Account(1, b"one"))
        table.fulfil(table.intend(space, {"b"}, Account(2, b"two")))
        reader.refresh(space)
        assert reader.find([made["a"].name]) == (made["a"],)
        table.fulfil(slow)
        reader.refresh(space)
        assert reader.find([made["a"].name]) is None


@pytest.mark.parametrize("whole", [True, False])
def test_erasing_again_destroys_what_an_older_copy_of_the_keys_brought_back(
    opened: Open,
    path: Path,
    keys: Path,
    whole: bool,  # noqa: FBT001
) -> None:
    """As the error for a damaged file of keys says."""
    with opened() as memory:
        secret, other = busy(memory)
        backup, old = copied(path, "backup.db"), keys.with_name("old.keys")
        with closing(KeyTable(keys, read_only=True)) as table:
            table.copy(old)
        first = memory.erase_space("default") if whole else memory.erase(secret)
    with opened(keys=old) as memory:
        assert opened(backup, keys=old, read_only=True).block(secret).content == STORY
        again = memory.erase_space("default") if whole else memory.erase(secret)
        assert again == first
    looked = opened(backup, keys=old, read_only=True)
    assert looked.block(secret).content is None
    assert looked.block(other).content == (None if whole else "the garden code is four")


# --- commands -------------------------------------------------------------------------------------


@pytest.mark.parametrize("locked", [True, False])
def test_a_command_request_cannot_be_guessed_after_the_erasure(
    opened: Open,
    locked: bool,  # noqa: FBT001
) -> None:
    memory = opened() if locked else opened(keys=None)
    secret = memory.learn(STORY, command_id="once").block_id
    version = memory.status().version
    assert memory.learn(STORY, command_id="once").block_id == secret
    assert memory.status().version == version
    with pytest.raises(CommandIdReused, match="another request"):
        memory.learn("something else", command_id="once")
    memory.erase(secret, command_id="gone")
    with pytest.raises(CommandIdReused, match="erased since") as caught:
        memory.learn(STORY, command_id="once")
    assert caught.value.facts == {"command_id": "once", "version": version}
    assert memory.erase(secret, command_id="gone").version == version + 1


@pytest.mark.parametrize("locked", [True, False])
def test_a_command_request_cannot_be_guessed_after_the_space_is_erased(
    opened: Open,
    locked: bool,  # noqa: FBT001
) -> None:
    memory = opened() if locked else opened(keys=None)
    block = memory.learn(STORY).block_id
    memory.consolidate()
    memory.outcome([block], 1.0, source="a telling one", command_id="scored")
    version = memory.status().version
    memory.outcome([block], 1.0, source="a telling one", command_id="scored")
    assert memory.status().version == version
    receipt = memory.erase_space("default", command_id="gone")
    with pytest.raises(CommandIdReused, match="erased since"):
        memory.outcome([block], 1.0, source="a telling one", command_id="scored")
    assert memory.erase_space("default", command_id="gone") == receipt


def test_a_block_with_an_id_like_an_events_is_erased(
    tmp_path: Path,
) -> None:
    block = "e111791504314341"  # one in some thousands: an e, and digits alone
    inner = MemoryStore()
    with closing(EncryptedStore(inner, KeyTable(tmp_path / "agent.keys"))) as store:
        log = store.log("home")
        words = PayloadRow(version=0, slot=0, id="p", key=b"k", owners=(block,), data=b"words")
        log.append([Record(0, "block-learned.1", b"{}")], [words], after=log.head())
        assert [rows for _, rows in log.read()] == [(words,)]
        log.append([Record(1, "block-erased.1", b"{}")], (), after=log.head(), erase=[block])
        assert [rows for _, rows in log.read()] == [(), ()]
