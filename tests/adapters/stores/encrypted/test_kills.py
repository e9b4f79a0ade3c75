"""Kills at each step of an erasure: it is complete, or has not happened."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import warnings
from collections.abc import Callable, Collection, Iterable
from contextlib import closing
from pathlib import Path
from typing import TypeAlias

import pytest

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.encrypted import EncryptedStore, KeyTable
from mnemic.adapters.stores.encrypted.erasures import Account
from mnemic.adapters.stores.sqlite import SQLiteStore
from mnemic.kernel.errors import StoreFailed, VersionConflict
from mnemic.specs.contracts.log_entries import payload, records

Open: TypeAlias = Callable[..., SyncMemory]

STORY = "the vault code is mellifluous zanzibar"
STEPS = ("before intending", "intended", "appended", "destroyed")

pytestmark = [
    pytest.mark.extended,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="an eraser is forked to be killed"),
]


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class DeadlyTable(KeyTable):
    """A table of keys that kills the process during an erasure."""

    step = ""

    def intend(self, space: int, owners: Collection[str] | None, account: Account) -> int:
        if self.step == "before intending":
            die()
        number = super().intend(space, owners, account)
        if self.step == "intended":
            die()
        return number

    def account(self, numbers: Iterable[int], account: Account) -> None:
        if self.step == "told":
            die()
        super().account(numbers, account)

    def fulfil(self, number: int) -> None:
        if self.step == "appended":
            die()
        super().fulfil(number)
        if self.step == "destroyed":
            die()


def erase_and_die(path: Path, keys: Path, step: str, block: str | None) -> None:
    """Erase a block, or all, in a child process that is killed at *step*."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of a fork beside threads
        child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        assert os.WIFSIGNALED(status)
        return
    try:
        table = DeadlyTable(keys)
        table.step = step
        memory = SyncMemory.open(
            EncryptedStore(SQLiteStore(path), table), embedder=HashEmbedder(16)
        )
        if block is None:
            memory.erase_space("default")
        else:
            memory.erase(block)
    finally:
        os._exit(1)


def secret_of(keys: Path, owner: str) -> bytes:
    with closing(sqlite3.connect(keys)) as connection:
        (secret,) = connection.execute(
            "SELECT secret FROM keys JOIN secrets USING (id) WHERE owner = ?", (owner,)
        ).fetchone()
    return bytes(secret)


@pytest.mark.parametrize("step", STEPS)
def test_a_killed_erasure_is_complete_or_absent(
    opened: Open, path: Path, keys: Path, step: str
) -> None:
    memory = opened()
    block, other = memory.learn(STORY).block_id, memory.learn("stays").block_id
    version = memory.status().version
    memory.close()
    secret = secret_of(keys, block)
    erase_and_die(path, keys, step, block)
    after = opened()
    happened = step in {"appended", "destroyed"}
    assert after.status().version == version + happened
    assert (after.block(block).content, after.block(other).content) == (
        None if happened else STORY,
        "stays",
    )
    assert after.verify().sound
    after.close()
    held = b"".join(file.read_bytes() for file in keys.parent.iterdir())
    assert (secret in held) is not happened
    with closing(KeyTable(keys)) as table:
        assert len(table.intentions(1)) == (
            step == "intended"
        )  # it serves nobody, and harms nobody


@pytest.mark.parametrize("step", STEPS)
def test_a_killed_erasure_of_a_space_is_complete_or_absent(
    opened: Open, path: Path, keys: Path, step: str
) -> None:
    memory = opened()
    block = memory.learn(STORY).block_id
    memory.close()
    secrets = {secret_of(keys, owner) for owner in ("", block)}
    erase_and_die(path, keys, step, None)
    after = opened()
    happened = step in {"appended", "destroyed"}
    assert after.block(block).content == (None if happened else STORY)
    assert after.verify().sound
    after.close()
    held = b"".join(file.read_bytes() for file in keys.parent.iterdir())
    assert {secret in held for secret in secrets} == {not happened}


def test_text_learned_after_a_failed_intention_is_kept(
    opened: Open, path: Path, keys: Path
) -> None:
    memory = opened()
    block = memory.learn(STORY).block_id
    erase_and_die(path, keys, "intended", block)
    memory.consolidate()  # a process that was there before, and settles nothing
    memory.close()
    again = opened()
    assert again.block(block).content == STORY
    assert again.recall("vault", record=False).block_ids == (block,)
    again.erase(block)
    assert again.block(block).content is None


def test_a_copy_killed_while_recording_an_erasure_records_it_once(
    opened: Open, path: Path, keys: Path
) -> None:
    memory = opened()
    block, other = memory.learn(STORY).block_id, memory.learn("stays").block_id
    backup, before = path.with_name("backup.db"), memory.status().version
    memory.close()
    shutil.copy(path, backup)
    copy = opened(backup, checkpoints=False)
    opened().erase(block)
    erase_and_die(backup, keys, "told", other)
    assert (copy.block(block).archive_reason, copy.block(other).content) == ("erased", "stays")
    assert copy.learn("later").action == "created"
    assert (copy.status().version, copy.verify().sound) == (before + 2, True)
    assert opened(backup).status().version == before + 2


def learned_and_copied(opened: Open, path: Path) -> tuple[str, Path]:
    """Learn the story, close the store, and copy it; return the block's id and the copy."""
    memory = opened()
    block, backup = memory.learn(STORY).block_id, path.with_name("backup.db")
    memory.close()
    shutil.copy(path, backup)
    return block, backup


def test_an_open_copy_notices_a_killed_erasure_once_it_is_completed(
    opened: Open, path: Path, keys: Path
) -> None:
    block, backup = learned_and_copied(opened, path)
    copy = opened(backup)
    erase_and_die(path, keys, "appended", block)
    assert copy.block(block).content == STORY
    opened().close()
    copy.learn("something later")
    assert (copy.block(block).content, copy.block(block).archive_reason) == (None, "erased")


def test_opening_a_copy_does_not_cancel_an_erasure(opened: Open, path: Path, keys: Path) -> None:
    """It lacks the record, and cannot know that its original is about to have it."""
    block, backup = learned_and_copied(opened, path)
    table = FussyTable(keys)
    with (
        closing(EncryptedStore(SQLiteStore(path), table)) as store,
        SyncMemory.open(store, embedder=HashEmbedder(16)) as erasing,
    ):
        table.late = lambda: opened(backup).close()
        assert erasing.erase(block).left == ()
    assert secret_of(keys, block) == bytes(32)
    assert opened(backup, read_only=True).block(block).content is None


def test_opening_a_copy_first_does_not_cancel_a_killed_erasure(
    opened: Open, path: Path, keys: Path
) -> None:
    block, backup = learned_and_copied(opened, path)
    erase_and_die(path, keys, "appended", block)
    opened(backup).close()
    opened().close()
    assert secret_of(keys, block) == bytes(32)
    assert opened(backup, read_only=True).block(block).content is None


def test_a_failed_intention_does_not_protect_keys_from_a_later_erasure(
    opened: Open, path: Path, keys: Path
) -> None:
    memory = opened()
    block = memory.learn(STORY).block_id
    memory.close()
    erase_and_die(path, keys, "intended", block)
    opened().erase(block)
    assert secret_of(keys, block) == bytes(32)


class FullTable(KeyTable):
    """A table of keys on a disk that is full at times."""

    is_full = False

    def fulfil(self, number: int) -> None:
        if self.is_full:
            raise StoreFailed("no room", path=str(self.path))
        super().fulfil(number)


def test_a_key_that_could_not_be_destroyed_is_reported_and_retried(path: Path, keys: Path) -> None:
    table = FullTable(keys)
    with (
        closing(EncryptedStore(SQLiteStore(path), table)) as store,
        SyncMemory.open(store, embedder=HashEmbedder(16)) as memory,
    ):
        block = memory.learn(STORY).block_id
        secret = secret_of(keys, block)
        table.is_full = True
        receipt = memory.erase(block)
        assert (receipt.left, memory.block(block).content) == (("agent.keys",), None)
        assert memory.status().alerts == (
            "agent.keys could not be cleared and may hold keys of erased words",
        )
        assert secret_of(keys, block) == secret
        table.is_full = False
        memory.learn("something later")
        assert memory.status().alerts == ()
        assert secret_of(keys, block) == bytes(32)


class FussyTable(KeyTable):
    """A table of keys that appends for another writer between an intention and its record."""

    late: Callable[[], object] | None = None

    def intend(self, space: int, owners: Collection[str] | None, account: Account) -> int:
        number = super().intend(space, owners, account)
        if self.late is not None:
            late, self.late = self.late, None
            late()
        return number


def test_an_erasure_after_a_conflict_is_decided_again(path: Path, keys: Path) -> None:
    table = FussyTable(keys)
    with closing(EncryptedStore(SQLiteStore(path), table)) as store:
        log = store.log("home")
        log.append(records(0, 1), [payload(0, 0, "a")], after=log.head())
        secret = secret_of(keys, "a")
        table.late = lambda: log.inner.append(
            records(1, 1, author="late"), (), after=log.inner.head()
        )
        with pytest.raises(VersionConflict):
            log.append(records(1, 1), (), after=log.head(), erase=["a"])
        assert (secret_of(keys, "a"), table.intentions(1)) == (secret, ())
        assert [len(rows) for _, rows in log.read()] == [1, 0]
        log.append(records(2, 1), (), after=log.head(), erase=["a"])
        assert (secret_of(keys, "a"), len(table.erasures(1))) == (bytes(32), 1)
