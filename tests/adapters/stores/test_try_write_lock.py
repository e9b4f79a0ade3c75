"""Taking the write lock without waiting for another writer."""

from __future__ import annotations

from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TypeAlias, cast

import pytest

from mnemic.adapters.stores.encrypted.keys import KeyTable
from mnemic.adapters.stores.encrypted.store import EncryptedStore
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.stores.sqlite.store import SQLiteStore
from mnemic.kernel.errors import Closed, ViewReadOnly
from mnemic.kernel.ports import Log, Store, TryWriteLock

Handles: TypeAlias = tuple[Log, Log]
"""Two on one log."""


@pytest.fixture(params=["memory", "sqlite", "encrypted"])
def handles(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[Handles]:
    with ExitStack() as stack:
        if request.param == "memory":
            store = MemoryStore()
            yield store.log("home"), store.log("home")
            return
        stores: list[Store] = [SQLiteStore(tmp_path / "agent.db") for _ in range(2)]
        if request.param == "encrypted":
            stores = [EncryptedStore(each, KeyTable(tmp_path / "keys.db")) for each in stores]
        for each in stores:
            stack.callback(each.close)
        one, two = (each.log("home") for each in stores)
        yield one, two


def prompt(log: Log) -> TryWriteLock:
    """Return a log as a ``TryWriteLock``."""
    assert hasattr(log, "try_write_lock")
    return cast("TryWriteLock", log)


def is_free(log: Log) -> bool:
    with prompt(log).try_write_lock() as is_ours:
        return is_ours


def is_free_for_another(log: Log) -> bool:
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(is_free, log).result()


def test_a_free_lock_can_be_taken_repeatedly(handles: Handles) -> None:
    one, two = handles
    assert [is_free(one), is_free(two), is_free(one)] == [True, True, True]


def test_a_lock_taken_without_waiting_excludes_others(handles: Handles) -> None:
    one, two = handles
    with prompt(one).try_write_lock() as is_ours:
        assert is_ours
        assert (is_free_for_another(one), is_free_for_another(two)) == (False, False)
    assert (is_free_for_another(one), is_free_for_another(two)) == (True, True)


def test_a_lock_taken_after_waiting_is_kept(handles: Handles) -> None:
    one, two = handles
    with one.write_lock():
        asked = [is_free_for_another(one), is_free_for_another(two), is_free_for_another(two)]
        assert asked == [False, False, False]
    assert (is_free(one), is_free(two)) == (True, True)


def test_the_lock_is_released_after_an_error(handles: Handles) -> None:
    one, two = handles
    with pytest.raises(LookupError), prompt(one).try_write_lock():
        raise LookupError
    assert is_free(two)


def test_a_read_only_or_closed_store_has_no_write_lock(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "agent.db")
    log = store.log("home")
    reader = SQLiteStore(tmp_path / "agent.db", read_only=True)
    with pytest.raises(ViewReadOnly):
        is_free(reader.log("home"))
    reader.close()
    store.close()
    with pytest.raises(Closed):
        is_free(log)


class Plain:
    """A store with only the mandatory members."""

    def __init__(self) -> None:
        self._store = MemoryStore()

    def spaces(self) -> tuple[str, ...]:
        return self._store.spaces()

    def log(self, space: str, *, create: bool = True) -> Log:
        return PlainLog(self._store.log(space, create=create))

    @contextmanager
    def draft(self, space: str) -> Generator[Log]:
        with self._store.draft(space) as log:
            yield PlainLog(log)

    def close(self) -> None:
        self._store.close()


class PlainLog:
    """Its log."""

    def __init__(self, log: Log) -> None:
        self.name, self.head, self.read = log.name, log.head, log.read
        self.digest_at, self.write_lock, self.append = log.digest_at, log.write_lock, log.append
        self.command, self.close = log.command, log.close


def test_an_encrypted_log_offers_the_capabilities_of_the_inner_log(tmp_path: Path) -> None:
    locked = EncryptedStore(Plain(), KeyTable(tmp_path / "keys.db"))
    assert not hasattr(locked.log("home"), "try_write_lock")
    locked.close()
