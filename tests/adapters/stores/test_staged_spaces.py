"""Making spaces concurrently, and clearing what a killed process left."""

# ruff: noqa: PT012 - a block that fails at its end is what some of these are about

from __future__ import annotations

import os
import signal
import sqlite3
from collections.abc import Callable, Generator
from contextlib import ExitStack, closing, contextmanager, nullcontext
from pathlib import Path
from typing import TypeAlias

import pytest

from mnemic.adapters.stores.logs.chain import EMPTY
from mnemic.adapters.stores.logs.recorded_log import RecordedLog
from mnemic.adapters.stores.logs.staged_spaces import Swept, hidden, staged
from mnemic.adapters.stores.opening import open_store
from mnemic.adapters.stores.postgres import PostgresLog, PostgresStore
from mnemic.adapters.stores.sqlite import SQLiteLog, SQLiteStore
from mnemic.kernel.errors import HistoryReplaced, SpaceExists, VersionConflict, ViewReadOnly
from mnemic.kernel.ports import LookupStore, StagingStore
from mnemic.specs.contracts.log_entries import (
    bare,
    contents,
    payload,
    records,
)
from tests.adapters.stores.postgres import server as servers

Recorded: TypeAlias = SQLiteStore | PostgresStore

posix = pytest.mark.skipif(not hasattr(os, "fork"), reason="children are forked")


@pytest.fixture(scope="module")
def server() -> Generator[str]:
    with servers.SHARED.served() as address:
        yield address


@pytest.fixture(params=["file", "server"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[str]:
    if request.param == "file":
        yield str(tmp_path / "agent.db")
        return
    with servers.schema(request.getfixturevalue("server")) as made:
        yield made


@pytest.fixture
def opened(address: str) -> Generator[Callable[[], Recorded]]:
    """Open handles of one store."""
    with ExitStack() as stack:

        def another() -> Recorded:
            store = stack.enter_context(closing(open_store(address)))
            assert isinstance(store, Recorded)
            return store

        yield another


def log_in(store: Recorded, name: str, number: int) -> RecordedLog:
    """Return a handle of a staged space."""
    if isinstance(store, SQLiteStore):
        return SQLiteLog(store, name, number)
    return PostgresLog(store, name, number)


def left_behind(address: str, *spaces: str) -> None:
    """Let a process make spaces, and kill it before it is done."""
    pid = os.fork()
    if pid == 0:
        with closing(open_store(address)) as store, ExitStack() as stack:
            assert isinstance(store, Recorded)
            for space in spaces:
                log = stack.enter_context(store.draft(space))
                log.append(records(0, 2), [payload(0), payload(1)], after=log.head())
            os.kill(os.getpid(), signal.SIGKILL)
    assert os.WTERMSIG(os.waitpid(pid, 0)[1]) == signal.SIGKILL


def at_once() -> None:
    """Look again without a pause."""


def counts(address: str) -> list[int]:
    """Return how many rows of events and payloads there are, visible or not."""
    statements = ("SELECT count(*) FROM stored_events", "SELECT count(*) FROM payloads")
    with rows_of(address) as ask:
        return [ask(statement) for statement in statements]


@contextmanager
def rows_of(address: str) -> Generator[Callable[[str], int]]:
    if "://" not in address:
        with closing(sqlite3.connect(address)) as connection:
            yield lambda statement: int(connection.execute(statement).fetchone()[0])
        return
    with closing(open_store(address)) as store:
        assert isinstance(store, PostgresStore)
        schema = store.address.schema
        datastore = store.recorder.datastore

        def ask(statement: str) -> int:
            there = statement.replace("FROM ", f'FROM "{schema}".')
            return int(datastore.once(there.encode())[0][0])

        yield ask


@posix
def test_spaces_of_killed_makers_are_swept(address: str, opened: Callable[[], Recorded]) -> None:
    left_behind(address, "one", "two")
    store = opened()
    store.log("home").append(records(0, 1), [payload(0)], after=store.log("home").head())
    assert (store.unfinished(), counts(address)) == (("one", "two"), [5, 5])
    assert store.sweep(at_once) == Swept(gone=("one", "two"), kept=())
    assert (store.spaces(), store.unfinished()) == (("home",), ())
    assert counts(address) == [1, 1]
    assert store.sweep(at_once) == Swept(gone=(), kept=())
    with store.draft("one") as log:
        log.append(records(0, 1), (), after=log.head())
    assert contents(store.log("one", create=False)) == bare(records(0, 1))


def test_a_growing_staged_space_is_left_alone(
    opened: Callable[[], Recorded],
) -> None:
    making, sweeping = opened(), opened()
    with making.draft("home") as log:
        log.append(records(0, 1), [payload(0)], after=log.head())

        def go_on() -> None:
            log.append(records(1, 1), (), after=log.head())

        assert sweeping.sweep(go_on) == Swept(gone=(), kept=("home",))
        log.append(records(2, 1), (), after=log.head())
    assert contents(sweeping.log("home", create=False))[1:] == bare(records(1, 2))


def test_a_space_completed_during_the_sweep_is_kept(
    opened: Callable[[], Recorded],
) -> None:
    making, sweeping = opened(), opened()
    with ExitStack() as stack:
        stack.enter_context(making.draft("home")).append(records(0, 2), (), after=EMPTY)
        assert sweeping.sweep(stack.close) == Swept(gone=(), kept=("home",))
    assert contents(sweeping.log("home", create=False)) == bare(records(0, 2))


def test_a_paused_maker_fails_after_the_sweep_and_leaves_nothing(
    address: str, opened: Callable[[], Recorded]
) -> None:
    making, sweeping = opened(), opened()
    with pytest.raises(HistoryReplaced), making.draft("home") as log:
        head = log.append(records(0, 2), [payload(0)], after=log.head())
        assert sweeping.sweep(at_once) == Swept(gone=("home",), kept=())
        log.append(records(2, 1), (), after=head)
    with pytest.raises(VersionConflict), making.draft("other") as log:
        log.append(records(0, 2), [payload(0)], after=log.head())
        assert sweeping.sweep(at_once) == Swept(gone=("other",), kept=())
    assert (sweeping.spaces(), sweeping.unfinished(), counts(address)) == ((), (), [0, 0])


def test_an_empty_staged_space_is_left_alone(
    opened: Callable[[], Recorded],
) -> None:
    making, sweeping = opened(), opened()
    with making.draft("home") as log:
        assert sweeping.sweep(at_once) == Swept(gone=(), kept=())
        log.append(records(0, 1), (), after=log.head())
    assert contents(sweeping.log("home", create=False)) == bare(records(0, 1))


def test_a_read_only_store_sweeps_nothing(address: str, opened: Callable[[], Recorded]) -> None:
    opened()
    with closing(open_store(address, read_only=True)) as store:
        assert isinstance(store, Recorded)
        with pytest.raises(ViewReadOnly):
            store.sweep(at_once)


def test_a_maker_that_starts_as_another_completes_destroys_nothing(
    opened: Callable[[], Recorded],
) -> None:
    first, second = opened(), opened()
    with ExitStack() as stack:
        stack.enter_context(first.draft("home")).append(records(0, 2), [payload(0)], after=EMPTY)

        def log_of(name: str, number: int) -> RecordedLog:
            stack.close()  # now, that the other one has found it in the making
            return log_in(second, name, number)

        with (
            pytest.raises(SpaceExists),
            staged(second.recorder, "home", log_of, nullcontext),
        ):
            pytest.fail("there is nothing to make")
    assert [record for record, _ in second.log("home").read()] == list(records(0, 2))


def test_a_space_is_found_by_its_name_unless_it_is_staged(address: str) -> None:
    with closing(open_store(address)) as store:
        assert isinstance(store, LookupStore)
        store.log("there")
        assert (store.has("there"), store.has("not there")) == (True, False)
        assert isinstance(store, StagingStore)
        with store.draft("copy"):
            assert not store.has("copy")
            assert not store.has(hidden("copy"))
        assert store.has("copy")
