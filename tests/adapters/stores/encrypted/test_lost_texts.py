"""An append whose answer is lost: no key is destroyed that is needed, and none is left."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from mnemic.adapters.stores.encrypted import EncryptedLog, KeyTable
from mnemic.adapters.stores.memory import MemoryLog, MemoryRecorder
from mnemic.kernel.errors import StoreFailed, VersionConflict
from mnemic.kernel.ports import Head, PayloadRow, Record
from mnemic.specs.contracts.log_entries import payload, records


class DeafLog(MemoryLog):
    """A log whose answers may be lost after writing, as over a connection that dies."""

    loses = ""
    """What becomes of the next append: "word" is lost of it, or it arrives "late"."""

    def append(
        self, records: Sequence[Record], payloads: Sequence[PayloadRow], **more: Any
    ) -> Head:
        """Write everything, at once or later."""
        lost, self.loses = self.loses, ""
        if lost == "late":
            self.late = (records, payloads, more["after"])
        else:
            head = super().append(records, payloads, **more)
            if not lost:
                return head
        raise StoreFailed("the connection was lost")


@pytest.fixture
def keys(tmp_path: Path) -> Generator[KeyTable]:
    with closing(KeyTable(tmp_path / "agent.keys")) as table:
        yield table


@pytest.fixture
def inner() -> DeafLog:
    return DeafLog(MemoryRecorder(), "home")


def secrets_of(keys: KeyTable, owner: str) -> list[bytes]:
    with closing(sqlite3.connect(keys.path)) as connection:
        rows = connection.execute(
            "SELECT secret FROM keys JOIN secrets USING (id) WHERE owner = ?", (owner,)
        )
        return [secret for (secret,) in rows]


def test_the_first_texts_keep_their_keys_if_the_append_is_delayed(
    inner: DeafLog, keys: KeyTable
) -> None:
    log = EncryptedLog(inner, keys)
    inner.loses = "late"
    with pytest.raises(StoreFailed):
        log.append(records(0, 1), [payload(0, 0, "a")], after=log.head())
    late, payloads, after = inner.late
    inner.append(late, payloads, after=after)
    assert [rows for _, rows in EncryptedLog(inner, keys).read()] == [(payload(0, 0, "a"),)]


def test_refused_first_texts_leave_no_key(inner: DeafLog, keys: KeyTable) -> None:
    log = EncryptedLog(inner, keys)
    inner.append(records(0, 1, author="faster"), (), after=inner.head())
    with pytest.raises(VersionConflict):
        log.append(records(0, 1), [payload(0, 0, "a")], after=log.head())
    assert (secrets_of(keys, "a"), keys.holdings()) == ([], ())


def test_keys_of_an_unconfirmed_erasure_are_destroyed_by_the_next_append(
    inner: DeafLog, keys: KeyTable
) -> None:
    log = EncryptedLog(inner, keys)
    log.append(records(0, 1), [payload(0, 0, "a")], after=log.head())
    inner.loses = "word"
    with pytest.raises(StoreFailed):
        log.append(records(1, 1), (), erase=["a"], after=log.head())
    assert secrets_of(keys, "a") != [bytes(32)]
    log.append(records(2, 1), (), after=log.head())
    assert secrets_of(keys, "a") == [bytes(32)]


def test_concurrent_writers_give_a_log_the_same_keys(inner: DeafLog, keys: KeyTable) -> None:
    """Otherwise an erasure by one of them would not reach what the other one has encrypted."""
    inner.append(records(0, 1), (), after=inner.head())
    with closing(KeyTable(keys.path)) as other:
        one, two = EncryptedLog(inner, keys), EncryptedLog(inner, other)
        one.append(records(1, 1), [payload(1, 0, "a")], after=one.head())
        two.append(records(2, 1), [payload(2, 0, "a")], after=two.head())
        assert one.space == two.space
        one.append(records(3, 1), (), after=one.head(), erase=["a"])
    assert secrets_of(keys, "a") == [bytes(32)]
