"""Who makes a space, who makes it too, and who clears away what a killed maker left."""

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

from mnemic.adapters.stores.drafts import Swept, drafted
from mnemic.adapters.stores.opening import open_store
from mnemic.adapters.stores.postgres import PostgresLog, PostgresStore
from mnemic.adapters.stores.recorded import RecordedLog
from mnemic.adapters.stores.sqlite import SQLiteLog, SQLiteStore
from mnemic.kernel.errors import SpaceExists, VersionConflict, ViewReadOnly
from mnemic.specs.contracts.entries import bare, contents, payload, records
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
    """Hand out handles of one store."""
    with ExitStack() as stack:

        def another() -> Recorded:
            store = stack.enter_context(closing(open_store(address)))
            assert isinstance(store, Recorded)
            return store

        yield another


def log_in(store: Recorded, name: str, number: int) -> RecordedLog:
    """Return a handle of a space in the making."""
    if isinstance(store, SQLiteStore):
        return SQLiteLog(store, name, number)
    return PostgresLog(store, name, number)


def left_behind(address: str, *spaces: str) -> None:
    """Have somebody make spaces, and kill them over it."""
    pid = os.fork()
    if pid == 0:
        with closing(open_store(address)) as store, ExitStack() as stack:
            assert isinstance(store, Recorded)
            for space in spaces:
                log = stack.enter_context(store.draft(space))
                log.append(records(0, 2), [payload(0), payload(1)])
            os.kill(os.getpid(), signal.SIGKILL)
    assert os.WTERMSIG(os.waitpid(pid, 0)[1]) == signal.SIGKILL


def at_once() -> None:
    """Look again without giving anybody time."""


def counts(address: str) -> list[int]:
    """Return how many rows of events and payloads there are, seen or not."""
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
def test_what_killed_makers_left_is_swept_away(
    address: str, opened: Callable[[], Recorded]
) -> None:
    left_behind(address, "one", "two")
    store = opened()
    store.log("home").append(records(0, 1), [payload(0)])
    assert (store.unfinished(), counts(address)) == (("one", "two"), [5, 5])
    assert store.sweep(at_once) == Swept(gone=("one", "two"), kept=())
    assert (store.spaces(), store.unfinished()) == (("home",), ())
    assert counts(address) == [1, 1]
    assert store.sweep(at_once) == Swept(gone=(), kept=())
    with store.draft("one") as log:
        log.append(records(0, 1), ())
    assert contents(store.log("one", create=False)) == bare(records(0, 1))


def test_a_maker_who_goes_on_while_one_looks_is_left_alone(
    opened: Callable[[], Recorded],
) -> None:
    making, sweeping = opened(), opened()
    with making.draft("home") as log:
        log.append(records(0, 1), [payload(0)])

        def go_on() -> None:
            log.append(records(1, 1), ())

        assert sweeping.sweep(go_on) == Swept(gone=(), kept=("home",))
        log.append(records(2, 1), ())
    assert contents(sweeping.log("home", create=False))[1:] == bare(records(1, 2))


def test_a_maker_who_ends_while_one_looks_has_made_the_space(
    opened: Callable[[], Recorded],
) -> None:
    making, sweeping = opened(), opened()
    with ExitStack() as stack:
        stack.enter_context(making.draft("home")).append(records(0, 2), ())
        assert sweeping.sweep(stack.close) == Swept(gone=(), kept=("home",))
    assert contents(sweeping.log("home", create=False)) == bare(records(0, 2))


def test_a_maker_who_was_asleep_while_it_was_swept_away_fails_and_leaves_nothing(
    address: str, opened: Callable[[], Recorded]
) -> None:
    making, sweeping = opened(), opened()
    with pytest.raises(VersionConflict), making.draft("home") as log:
        log.append(records(0, 2), [payload(0)])
        assert sweeping.sweep(at_once) == Swept(gone=("home",), kept=())
        log.append(records(2, 1), ())
    with pytest.raises(VersionConflict), making.draft("other") as log:
        log.append(records(0, 2), [payload(0)])
        assert sweeping.sweep(at_once) == Swept(gone=("other",), kept=())
    assert (sweeping.spaces(), sweeping.unfinished(), counts(address)) == ((), (), [0, 0])


def test_a_maker_who_has_written_nothing_yet_is_left_alone(
    opened: Callable[[], Recorded],
) -> None:
    making, sweeping = opened(), opened()
    with making.draft("home") as log:
        assert sweeping.sweep(at_once) == Swept(gone=(), kept=())
        log.append(records(0, 1), ())
    assert contents(sweeping.log("home", create=False)) == bare(records(0, 1))


def test_who_only_reads_sweeps_nothing(address: str, opened: Callable[[], Recorded]) -> None:
    opened()
    with closing(open_store(address, read_only=True)) as store:
        assert isinstance(store, Recorded)
        with pytest.raises(ViewReadOnly):
            store.sweep(at_once)


def test_a_maker_who_comes_in_the_moment_in_which_another_ends_destroys_nothing(
    opened: Callable[[], Recorded],
) -> None:
    first, second = opened(), opened()
    with ExitStack() as stack:
        stack.enter_context(first.draft("home")).append(records(0, 2), [payload(0)])

        def log_of(name: str, number: int) -> RecordedLog:
            stack.close()  # now, that the other one has found it in the making
            return log_in(second, name, number)

        with (
            pytest.raises(SpaceExists),
            drafted(second.recorder, "home", log_of, nullcontext),
        ):
            pytest.fail("there is nothing to make")
    assert [record for record, _ in second.log("home").read()] == list(records(0, 2))
