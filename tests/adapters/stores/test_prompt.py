"""A turn that is had at once or not at all: whoever asks for it never waits for another writer."""

from __future__ import annotations

from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TypeAlias, cast

import pytest

from mnemic.adapters.encryption.keys import KeyTable
from mnemic.adapters.encryption.store import EncryptedStore
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.stores.sqlite.store import SQLiteStore
from mnemic.kernel.errors import Closed, ViewReadOnly
from mnemic.kernel.ports import Log, Prompt, Store

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


def prompt(log: Log) -> Prompt:
    """Return a log as what it is besides."""
    assert hasattr(log, "writing_if_free")
    return cast("Prompt", log)


def is_free(log: Log) -> bool:
    with prompt(log).writing_if_free() as is_ours:
        return is_ours


def is_free_for_another(log: Log) -> bool:
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(is_free, log).result()


def test_a_turn_that_nobody_has_is_free_again_and_again(handles: Handles) -> None:
    one, two = handles
    assert [is_free(one), is_free(two), is_free(one)] == [True, True, True]


def test_whoever_has_it_at_once_keeps_out_all_others(handles: Handles) -> None:
    one, two = handles
    with prompt(one).writing_if_free() as is_ours:
        assert is_ours
        assert (is_free_for_another(one), is_free_for_another(two)) == (False, False)
    assert (is_free_for_another(one), is_free_for_another(two)) == (True, True)


def test_whoever_waited_for_it_keeps_it_though_others_ask(handles: Handles) -> None:
    one, two = handles
    with one.writing():
        asked = [is_free_for_another(one), is_free_for_another(two), is_free_for_another(two)]
        assert asked == [False, False, False]
    assert (is_free(one), is_free(two)) == (True, True)


def test_it_ends_with_an_error_too(handles: Handles) -> None:
    one, two = handles
    with pytest.raises(LookupError), prompt(one).writing_if_free():
        raise LookupError
    assert is_free(two)


def test_a_store_that_only_reads_or_is_closed_has_none(tmp_path: Path) -> None:
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
    """A store with nothing but what every store has."""

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
        self.digest_at, self.writing, self.append = log.digest_at, log.writing, log.append
        self.command, self.close = log.command, log.close


def test_a_locked_log_offers_what_the_log_inside_does(tmp_path: Path) -> None:
    locked = EncryptedStore(Plain(), KeyTable(tmp_path / "keys.db"))
    assert not hasattr(locked.log("home"), "writing_if_free")
    locked.close()
