"""A server that falls silent without closing the connection: requests to it time out."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import psycopg
import pytest

from mnemic.adapters.stores.addresses import parsed
from mnemic.adapters.stores.postgres import PostgresLog, PostgresStore
from mnemic.adapters.stores.postgres.connections import Datastore, Lost
from mnemic.adapters.stores.postgres.faults import fault
from mnemic.adapters.stores.postgres.notices import LOOK_HEARING_S
from mnemic.kernel.errors import StoreFailed
from mnemic.specs.contracts.log_entries import answered, contents, records
from tests.adapters.stores.postgres.appends import append, whole
from tests.adapters.stores.postgres.stopped_processes import postmaster, sessions, stopped

pytestmark = pytest.mark.extended

LIMIT_S = 1.0
"""Which a server that is there hardly needs, busy as the machine may be."""
SLACK_S = 20.0
"""For ever is longer."""
KNOWN = 6
"""Appends after which every statement is prepared."""
WAITING = """SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'
    AND query_start < clock_timestamp() - make_interval(secs => %s)"""


@pytest.fixture
def hasty(address: str) -> str:
    """Return the address with a low limit, for answers and for connecting."""
    return f"{address}&answer_timeout={LIMIT_S}&connect_timeout=2"


@pytest.fixture
def log(hasty: str) -> Generator[PostgresLog]:
    with closing(PostgresStore(hasty, reconnect_s=0)) as store:
        log = store.log("home")
        for version in range(KNOWN):
            append(log, version)
            log.head()
        yield log


def test_a_query_to_a_hanging_session_is_repeated(log: PostgresLog, server: str) -> None:
    began = time.monotonic()
    with stopped(sessions(server)):
        assert log.head().version == KNOWN - 1
        assert contents(log) == whole(KNOWN)
    assert LIMIT_S <= time.monotonic() - began < SLACK_S


def test_an_append_to_a_hanging_session_is_written_once(log: PostgresLog, server: str) -> None:
    with stopped(sessions(server)):
        assert append(log, KNOWN) == KNOWN
    assert append(log, KNOWN + 1) == KNOWN + 1  # the other one goes on, with what it was sent
    assert contents(log) == whole(KNOWN + 2)
    assert log.command(f"command {KNOWN}") == answered(KNOWN)


def test_a_hanging_lock_session_does_not_block_the_work_under_the_lock(
    log: PostgresLog, server: str
) -> None:
    with log.write_lock(), stopped(sessions(server)):
        assert append(log, KNOWN) == KNOWN
    with log.write_lock():
        assert append(log, KNOWN + 1) == KNOWN + 1
    assert contents(log) == whole(KNOWN + 2)


def test_a_write_lock_refused_by_a_hanging_session_is_taken_by_another(
    log: PostgresLog, server: str
) -> None:
    began = time.monotonic()
    with stopped(sessions(server)), log.write_lock():
        assert append(log, KNOWN) == KNOWN
    assert time.monotonic() - began < SLACK_S  # and not after what others may wait in a queue
    assert contents(log) == whole(KNOWN + 1)


def test_a_server_that_hangs_completely_is_reported(log: PostgresLog, server: str) -> None:
    began = time.monotonic()
    with stopped([postmaster(server), *sessions(server)]):
        with pytest.raises(StoreFailed) as read:
            log.head()
        with pytest.raises(StoreFailed) as written, log.write_lock():
            append(log, KNOWN)
    assert time.monotonic() - began < SLACK_S
    assert "whether the server runs" in read.value.recovery
    assert "whether the server runs" in written.value.recovery
    assert contents(log) == whole(KNOWN)
    # Who was welcomed too late has hung up, though the errors are still there to be looked at.
    until(lambda: len(sessions(server)) == 1)


def test_an_append_that_may_have_reached_a_hanging_server_is_in_doubt(
    log: PostgresLog, server: str
) -> None:
    hanging = sessions(server)
    with stopped([postmaster(server), *hanging]):
        with pytest.raises(StoreFailed) as caught:
            append(log, KNOWN)
        assert "command id" in caught.value.recovery
    until(lambda: set(hanging).isdisjoint(sessions(server)))  # they went on, and off
    assert append_again(log) == KNOWN
    assert contents(log) == whole(KNOWN + 1)


def append_again(log: PostgresLog) -> int:
    """Return where the log ends when the command of version ``KNOWN`` has been repeated."""
    known = log.command(f"command {KNOWN}")
    return append(log, KNOWN) if known is None else known.last


def test_the_error_after_two_timeouts_names_the_limit(address: str) -> None:
    with closing(Datastore(parsed(address, answer_timeout_s=0.1))) as datastore:
        with pytest.raises(Lost, match=r"^nothing came from the server for 0\.1 s$") as caught:
            datastore.rows(b"SELECT pg_sleep(60)")
        assert caught.value.is_silence
        error = fault(caught.value, datastore.address)
    assert (error.code, "answer_timeout=" in error.recovery) == ("store-failed", True)


def test_a_slow_answer_that_keeps_arriving_is_not_cut_off(address: str) -> None:
    bits = b"SELECT length(repeat('x', 10000)), pg_sleep(0.1), repeat('x', 10000) FROM %b"
    with closing(Datastore(parsed(address, answer_timeout_s=LIMIT_S))) as datastore:
        rows = datastore.once(bits.replace(b"%b", b"generate_series(1, 15)"))
    assert [length for length, _, _ in rows] == [10_000] * 15


def test_waiting_for_the_write_lock_does_not_count_as_a_hanging_server(
    log: PostgresLog, address: str, server: str
) -> None:
    with (
        closing(PostgresStore(address)) as store,
        closing(psycopg.connect(server, autocommit=True)) as watching,
        ThreadPoolExecutor(1) as pool,
    ):
        other = store.log("home")
        with other.write_lock():
            waiting = pool.submit(written_in_turn, log)
            until(lambda: watching.execute(WAITING, (1.5 * LIMIT_S,)).fetchone() == (1,))
            append(other, KNOWN)
        assert waiting.result() == KNOWN + 1
    assert contents(log) == whole(KNOWN + 2)


def written_in_turn(log: PostgresLog) -> int:
    with log.write_lock():
        return append(log, log.head().version + 1)


def test_a_reader_with_a_hanging_listening_session_is_not_stalled_and_listens_again(
    log: PostgresLog, address: str, server: str
) -> None:
    with closing(PostgresStore(address)) as store:
        writer = store.log("home")
        log.wait(-1, 0.0)
        (listening,) = listeners(server)
        with stopped([listening]), ThreadPoolExecutor(1) as pool:
            hearing = pool.submit(log.wait, KNOWN - 1, SLACK_S)
            began = time.monotonic()
            append(writer, KNOWN)
            assert hearing.result()
            assert time.monotonic() - began < LOOK_HEARING_S + SLACK_S
            assert listeners(server, besides=[listening])


def test_an_idle_listening_session_is_probed_and_kept(address: str, server: str) -> None:
    asked = "-- are you there?"
    with (
        closing(PostgresStore(address)) as store,
        closing(PostgresStore(f"{address}&answer_timeout=0.3")) as reading,
    ):
        writer, log = store.log("home"), reading.log("home")
        log.wait(-1, 0.0)
        (listening,) = listeners(server)
        until(lambda: sessions(server, asked) == [listening])
        quickest = min(heard_after(log, writer, version) for version in range(5))
        assert quickest < LOOK_HEARING_S / 2
        assert sessions(server, asked) == [listening]


def heard_after(log: PostgresLog, writer: PostgresLog, version: int) -> float:
    """Return the seconds from writing a record to its notification."""
    with ThreadPoolExecutor(1) as pool:
        hearing = pool.submit(log.wait, version - 1, SLACK_S)
        began = time.monotonic()
        writer.append(records(version, 1), (), after=writer.head())
        assert hearing.result()
        return time.monotonic() - began


def listeners(server: str, *, besides: Sequence[int] = ()) -> list[int]:
    """Return the sessions that listen, as soon as there is one."""
    until(lambda: not set(sessions(server, "LISTEN%")).issubset(besides))
    return sessions(server, "LISTEN%")


def until(condition: Callable[[], bool]) -> None:
    """Wait until *condition* holds."""
    deadline = time.monotonic() + SLACK_S
    while not condition():
        assert time.monotonic() < deadline
        threading.Event().wait(0.01)
