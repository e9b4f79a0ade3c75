"""Waiting readers are notified of appends, and not stalled when notifications fail."""

from __future__ import annotations

import os
import resource
import socket
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest

from mnemic.adapters.stores.addresses import parsed
from mnemic.adapters.stores.postgres import PostgresLog, PostgresStore
from mnemic.adapters.stores.postgres.connections import Datastore
from mnemic.adapters.stores.postgres.notices import LOOK_HEARING_S, Notices
from mnemic.specs.contracts.log_entries import records
from tests.adapters.stores.postgres.connections import line
from tests.crash.limits import descriptors

LONG_S = 20.0
SELECT_MAX = 1024
"""Descriptors that `select` knows. Source: FD_SETSIZE of most systems."""
SPARE = 512
"""Descriptors for everything else; few systems let a process have so many unless it asks."""
SLACK_S = 10.0
"""How much longer than promised a busy machine may take; who is stalled waits for ``LONG_S``."""
NOWHERE = "postgresql://nobody@localhost/nothing"
TERMINATE = """SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE application_name = 'mnemic' AND query LIKE 'LISTEN%'"""


def until(condition: Callable[[], bool]) -> None:
    """Wait until *condition* holds."""
    deadline = time.monotonic() + LONG_S
    while not condition():
        assert time.monotonic() < deadline
        threading.Event().wait(0.01)


def waited(log: PostgresLog, after: int) -> tuple[bool, float]:
    """Return the result of waiting, and how many seconds it took."""
    start = time.monotonic()
    return log.wait(after, LONG_S), time.monotonic() - start


def can_have(count: int) -> bool:
    """Return whether this process may raise its limit to so many descriptors."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    return most == resource.RLIM_INFINITY or most >= count


@pytest.fixture
def writer(store: PostgresStore) -> PostgresLog:
    return store.log("home")


def heard_after(log: PostgresLog, writer: PostgresLog, version: int) -> float:
    """Return the seconds from writing a record to its notification."""
    with ThreadPoolExecutor(1) as pool:
        hearing = pool.submit(log.wait, version - 1, LONG_S)
        assert not hearing.done()
        start = time.monotonic()
        writer.append(records(version, 1), (), after=writer.head())
        assert hearing.result()
        return time.monotonic() - start


def test_wait_returns_at_once_for_existing_events(writer: PostgresLog) -> None:
    writer.append(records(0, 2), (), after=writer.head())
    assert writer.wait(-1, 0.0)
    assert writer.wait(0, LONG_S)


def test_wait_returns_false_after_the_timeout(writer: PostgresLog) -> None:
    writer.append(records(0, 2), (), after=writer.head())
    assert not writer.wait(1, 0.0)
    assert not writer.wait(1, 0.05)


def test_wait_returns_when_another_handle_appends(address: str, writer: PostgresLog) -> None:
    with closing(PostgresStore(address)) as reading:
        log = reading.log("home")
        log.wait(-1, 0.0)
        until(lambda: reading.notices.is_hearing)
        assert min(heard_after(log, writer, version) for version in range(5)) < LOOK_HEARING_S / 2
        with writer.write_lock():
            writer.append(records(5, 1), (), after=writer.head())
            writer.append(records(6, 1), (), after=writer.head())
        assert log.wait(5, LONG_S)


def test_a_reader_with_a_killed_listening_session_is_not_stalled(
    address: str, writer: PostgresLog, server: str
) -> None:
    with (
        closing(PostgresStore(address, read_only=True)) as reading,
        closing(psycopg.connect(server, autocommit=True)) as killer,
    ):
        log = reading.log("home")
        log.wait(-1, 0.0)
        version = 0
        for _ in range(3):
            until(lambda: reading.notices.is_hearing)
            with ThreadPoolExecutor(1) as pool:
                hearing = pool.submit(waited, log, version - 1)
                assert len(killer.execute(TERMINATE).fetchall()) == 1
                writer.append(records(version, 1), (), after=writer.head())
                assert hearing.result()[0]
                assert hearing.result()[1] < LOOK_HEARING_S + SLACK_S
            version += 1
        until(lambda: reading.notices.is_hearing)
        quickest = min(heard_after(log, writer, each) for each in range(version, version + 5))
        assert quickest < LOOK_HEARING_S / 2


def test_a_reader_with_a_silent_listening_session_is_not_stalled(
    address: str, writer: PostgresLog
) -> None:
    with line(address) as cable, closing(PostgresStore(cable.address)) as reading:
        log = reading.log("home")
        log.wait(-1, 0.0)
        until(lambda: reading.notices.is_hearing)
        cable.silence_the_last()  # to connect, and that was in order to listen
        assert heard_after(log, writer, 0) < LOOK_HEARING_S + SLACK_S
        assert reading.notices.is_hearing  # for all that it knows


@pytest.mark.skipif(not can_have(SELECT_MAX + SPARE), reason="nobody may have so many here")
def test_notifications_arrive_with_more_open_files_than_select_supports(
    address: str, writer: PostgresLog
) -> None:
    with ExitStack() as stack:
        stack.enter_context(descriptors(SELECT_MAX + SPARE))
        for _ in range(SELECT_MAX):
            stack.callback(os.close, os.dup(0))
        reading = stack.enter_context(closing(PostgresStore(address)))
        log = reading.log("home")
        log.wait(-1, 0.0)
        until(lambda: reading.notices.is_hearing)
        quickest = min(heard_after(log, writer, each) for each in range(3))
        assert quickest < LOOK_HEARING_S / 2


def test_a_failing_subscriber_does_not_affect_others(
    address: str, writer: PostgresLog, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse() -> None:
        raise RuntimeError("not now")

    with closing(PostgresStore(address)) as reading:
        log = reading.log("home")
        log.hear(refuse)
        quickest = min(heard_after(log, writer, each) for each in range(3))
        assert quickest < LOOK_HEARING_S / 2
    assert "not now" in caplog.text


def test_closing_the_store_ends_waits(address: str) -> None:
    with ThreadPoolExecutor(1) as pool:
        store = PostgresStore(address)
        log = store.log("home")
        log.wait(-1, 0.0)
        hearing = pool.submit(log.wait, -1, LONG_S)
        store.close()
        assert hearing.exception() is not None
        store.close()


def test_a_subscriber_is_called_until_it_unsubscribes(address: str, writer: PostgresLog) -> None:
    told = threading.Event()
    with closing(PostgresStore(address)) as reading:
        log = reading.log("home")
        end = log.hear(told.set)
        assert told.wait(LONG_S)  # once when it begins to hear: something may have come before
        told.clear()
        writer.append(records(0, 1), (), after=writer.head())
        assert told.wait(LONG_S)
        told.clear()
        end()
        end()
        writer.append(records(1, 1), (), after=writer.head())
        assert log.wait(0, LONG_S)
        assert not told.is_set()


class Quick(Datastore):
    """A server that answers at once, before the caller has started to wait."""

    def connect(self) -> Any:
        """Return a connection that never receives anything."""
        quiet, self.other_end = socket.socketpair()
        quick = SimpleNamespace(socket=quiet.fileno())
        return SimpleNamespace(execute=lambda _: None, pgconn=quick, close=quiet.close)


def test_a_subscriber_is_notified_of_the_first_append_however_early() -> None:
    told, server, before = threading.Event(), Quick(parsed(NOWHERE)), sys.getswitchinterval()
    with closing(server), closing(Notices(server, "c")) as notices:
        sys.setswitchinterval(LONG_S)  # who listens is not interrupted by whoever wants to hear
        try:
            notices.hear(1, told.set)
        finally:
            sys.setswitchinterval(before)
        assert told.wait(LONG_S)
    server.other_end.close()


def test_an_append_to_another_space_wakes_no_reader(address: str, store: PostgresStore) -> None:
    told = threading.Event()
    with closing(PostgresStore(address)) as reading:
        reading.log("home").hear(told.set)
        assert told.wait(LONG_S)
        told.clear()
        other = reading.log("other")
        other.wait(-1, 0.0)
        store.log("other").append(records(0, 1), (), after=store.log("other").head())
        assert other.wait(-1, LONG_S)
        assert not told.is_set()
