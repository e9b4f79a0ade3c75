"""A commit whose wait for its replicas was cancelled is not acknowledged before they have it."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.postgres import PostgresLog, PostgresStore
from mnemic.kernel.errors import SpaceExists, StoreFailed, VersionConflict
from mnemic.kernel.results import LearnResult
from mnemic.specs.contracts.log_entries import answered, contents, records
from tests.adapters.stores.postgres.appends import append, whole
from tests.adapters.stores.postgres.waiting_commits import Primary

CANCEL, TERMINATE = "pg_cancel_backend", "pg_terminate_backend"
"""What an operator may do to a session that waits for replicas."""


@pytest.fixture
def primary(server: str, address: str) -> Generator[Primary]:
    with closing(Primary(server, address)) as opened:
        yield opened


@pytest.fixture
def log(primary: Primary) -> Generator[PostgresLog]:
    with closing(PostgresStore(primary.address)) as store:
        log = store.log("home")
        append(log, 0)
        yield log


# --- logs ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", [CANCEL, TERMINATE])
def test_an_append_whose_wait_is_ended_is_in_doubt(
    primary: Primary, log: PostgresLog, ending: str
) -> None:
    primary.wait_for_a_replica()
    with primary.ending_waits(ending) as ended:
        with pytest.raises(StoreFailed) as caught:
            append(log, 1)
        with pytest.raises(StoreFailed):
            log.confirm(log.head())
    assert ended
    assert "command id" in caught.value.recovery
    primary.wait_for_no_replica()
    assert contents(log) == whole(2)  # it was committed all the same
    log.confirm(log.head())


@pytest.mark.parametrize("ending", [CANCEL, TERMINATE])
def test_an_append_is_acknowledged_once_a_later_wait_succeeds(
    primary: Primary, log: PostgresLog, ending: str
) -> None:
    primary.wait_for_a_replica()
    with primary.ending_waits(ending, then=primary.wait_for_no_replica):
        assert append(log, 1) == 1
    assert contents(log) == whole(2)


def test_an_append_that_no_replica_answers_is_in_doubt(primary: Primary, log: PostgresLog) -> None:
    primary.wait_for_a_replica()
    with pytest.raises(StoreFailed) as caught:
        append(log, 1)
    assert "command id" in caught.value.recovery
    with pytest.raises(StoreFailed):
        log.confirm(log.head())  # over new connections, perhaps to another server
    primary.wait_for_no_replica()
    log.confirm(log.head())
    assert contents(log) == whole(2)


def test_an_append_without_replicas_is_acknowledged_at_once(
    primary: Primary, log: PostgresLog
) -> None:
    with primary.ending_waits(CANCEL) as ended:
        assert append(log, 1) == 1
        log.confirm(log.head())
    assert not ended


def test_an_address_that_silences_warnings_hides_none(primary: Primary) -> None:
    quiet = f"{primary.address}&options=-c%20client_min_messages%3Derror"
    with closing(PostgresStore(quiet)) as store:
        log = store.log("home")
        primary.wait_for_a_replica()
        with primary.ending_waits(CANCEL), pytest.raises(StoreFailed):
            append(log, 0)


def test_a_store_that_waits_for_no_disk_waits_for_no_replica(primary: Primary) -> None:
    with closing(PostgresStore(primary.address, synchronous="normal")) as store:
        log = store.log("home")
        primary.wait_for_a_replica()
        assert append(log, 0) == 0
        log.confirm(log.head())


def test_another_writer_that_was_faster_is_a_conflict(primary: Primary, log: PostgresLog) -> None:
    with closing(PostgresStore(primary.address)) as other:
        append(other.log("home"), 1)
        primary.wait_for_a_replica()
        with primary.ending_waits(CANCEL), pytest.raises(VersionConflict):
            log.append(records(1, 1, author="late"), (), after=log.tip, commands=(answered(1),))


# --- spaces -------------------------------------------------------------------------------------


def append_then(log: PostgresLog, act: Callable[[], None]) -> None:
    append(log, 0)
    act()


def _give_up() -> None:
    """Leave what a process that is killed leaves."""
    raise VersionConflict("another process has it")


def test_a_space_whose_wait_is_cancelled_is_in_doubt(primary: Primary) -> None:
    with closing(PostgresStore(primary.address)) as store:
        primary.wait_for_a_replica()
        with primary.ending_waits(CANCEL), pytest.raises(StoreFailed):
            store.log("another")
        primary.wait_for_no_replica()
        assert append(store.log("another"), 0) == 0


def test_a_staged_space_is_in_doubt_until_the_replicas_have_its_name(primary: Primary) -> None:
    with closing(PostgresStore(primary.address)) as store:
        with primary.ending_waits(CANCEL) as ended:
            with pytest.raises(StoreFailed), store.draft("copy") as draft:
                append_then(draft, primary.wait_for_a_replica)
            assert ended
        primary.wait_for_no_replica()
        with pytest.raises(SpaceExists), store.draft("copy"):
            pass
        assert contents(store.log("copy")) == whole(1)


def test_clearing_a_staged_space_is_in_doubt_as_well(primary: Primary) -> None:
    with closing(PostgresStore(primary.address)) as store:
        with pytest.raises(VersionConflict), store.draft("half") as draft:
            append_then(draft, _give_up)
        primary.wait_for_a_replica()
        with primary.ending_waits(CANCEL), pytest.raises(StoreFailed):
            store.sweep(lambda: None)
        primary.wait_for_no_replica()
        assert store.unfinished() == ()


# --- commands -----------------------------------------------------------------------------------


@pytest.fixture(params=[False, True], ids=["plain", "encrypted"])
def handle(
    primary: Primary, tmp_path: Path, request: pytest.FixtureRequest
) -> Callable[[], SyncMemory]:
    """Open another handle on one space."""
    keys = tmp_path / "keys" if request.param else None
    return partial(SyncMemory.open, primary.address, keys=keys)


def test_a_repeated_command_is_answered_when_the_replicas_have_it(
    primary: Primary, handle: Callable[[], SyncMemory]
) -> None:
    def learned(memory: SyncMemory) -> int:
        return memory.learn("Ines leads the demo.", command_id="learn-1").version

    with handle() as memory:
        memory.learn("The demo is on Thursday.")
        primary.wait_for_a_replica()
        with primary.ending_waits(CANCEL):
            for _ in range(2):
                with pytest.raises(StoreFailed, match="replicas"):
                    learned(memory)
            assert len(memory.blocks().items) == 2  # a reader may see it
            with handle() as other, pytest.raises(StoreFailed):
                learned(other)
        primary.wait_for_no_replica()
        assert learned(memory) == memory.status().version
        with handle() as other:
            assert learned(other) == memory.status().version


def test_what_is_known_already_is_acknowledged_when_the_replicas_have_it(
    primary: Primary, handle: Callable[[], SyncMemory]
) -> None:
    def learned(memory: SyncMemory) -> LearnResult:
        return memory.learn("Ines leads the demo.", created_at="2026-03-01")

    with handle() as memory:
        primary.wait_for_a_replica()
        with primary.ending_waits(CANCEL):
            for _ in range(2):
                with pytest.raises(StoreFailed, match="replicas"):
                    learned(memory)
            with handle() as other, pytest.raises(StoreFailed):
                learned(other)
        primary.wait_for_no_replica()
        known = learned(memory)
        assert (known.action, known.version) == ("duplicate", memory.status().version)
