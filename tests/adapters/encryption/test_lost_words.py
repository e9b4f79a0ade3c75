"""A log that loses the word of what it has written: no key goes that is needed, and none stays."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from mnemic.adapters.encryption import EncryptedLog, KeyTable
from mnemic.adapters.stores.memory import MemoryLog, MemoryRecorder
from mnemic.kernel.errors import StoreFailed, VersionConflict
from mnemic.kernel.ports import Head, PayloadRow, Record
from mnemic.specs.contracts.entries import payload, records


class DeafLog(MemoryLog):
    """A log that writes, and may lose the word of it, as over a connection that dies."""

    loses = ""
    """What becomes of the next append: "word" is lost of it, or it arrives "late"."""

    def append(
        self, records: Sequence[Record], payloads: Sequence[PayloadRow], **more: Any
    ) -> Head:
        """Write everything, sooner or later."""
        lost, self.loses = self.loses, ""
        if lost == "late":
            self.late = (records, payloads)
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


def test_the_first_words_keep_their_keys_if_they_arrive_late(
    inner: DeafLog, keys: KeyTable
) -> None:
    log = EncryptedLog(inner, keys)
    inner.loses = "late"
    with pytest.raises(StoreFailed):
        log.append(records(0, 1), [payload(0, 0, "a")])
    inner.append(*inner.late)
    assert [rows for _, rows in EncryptedLog(inner, keys).read()] == [(payload(0, 0, "a"),)]


def test_first_words_that_were_refused_leave_no_key(inner: DeafLog, keys: KeyTable) -> None:
    log = EncryptedLog(inner, keys)
    inner.append(records(0, 1, author="faster"), ())
    with pytest.raises(VersionConflict):
        log.append(records(0, 1), [payload(0, 0, "a")])
    assert (secrets_of(keys, "a"), keys.holdings()) == ([], ())


def test_keys_of_an_erasure_whose_word_was_lost_go_with_the_next_append(
    inner: DeafLog, keys: KeyTable
) -> None:
    log = EncryptedLog(inner, keys)
    log.append(records(0, 1), [payload(0, 0, "a")])
    inner.loses = "word"
    with pytest.raises(StoreFailed):
        log.append(records(1, 1), (), erase=["a"])
    assert secrets_of(keys, "a") != [bytes(32)]
    log.append(records(2, 1), ())
    assert secrets_of(keys, "a") == [bytes(32)]


def test_two_that_find_a_log_without_keys_give_it_the_same(inner: DeafLog, keys: KeyTable) -> None:
    """Or an erasure by one of them would not reach what the other one has locked."""
    inner.append(records(0, 1), ())
    with closing(KeyTable(keys.path)) as other:
        one, two = EncryptedLog(inner, keys), EncryptedLog(inner, other)
        one.append(records(1, 1), [payload(1, 0, "a")])
        two.append(records(2, 1), [payload(2, 0, "a")])
        assert one.space == two.space
        one.append(records(3, 1), (), erase=["a"])
    assert secrets_of(keys, "a") == [bytes(32)]
