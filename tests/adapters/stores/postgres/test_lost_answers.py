"""The server hangs up at any point: nothing is lost, duplicated or refused falsely."""

from __future__ import annotations

import os
import random
import threading
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from queue import SimpleQueue

import psycopg
import pytest

from mnemic.adapters.stores.addresses import parsed
from mnemic.adapters.stores.postgres import PostgresLog, PostgresStore
from mnemic.adapters.stores.postgres.connections import Datastore, Row
from mnemic.adapters.stores.postgres.write_lock import WriteLock
from mnemic.kernel.errors import CommandIdReused, HistoryReplaced, StoreFailed, VersionConflict
from mnemic.kernel.ports import CommandRow, Head
from mnemic.specs.contracts.log_entries import (
    answered,
    bare,
    contents,
    payload,
    records,
)
from tests.adapters.stores.postgres import server as servers
from tests.adapters.stores.postgres.appends import append, whole
from tests.adapters.stores.postgres.connections import Line, line

pytestmark = pytest.mark.extended

KNOWN = 6
"""Appends after which every statement is prepared, and asked in one journey."""
TURNS = 60
"""Each of which has one kill coming."""
KEY = 1709
"""Of a lock that no store has."""
PATIENCE_S = 30.0
DELAY_MAX_S = 0.004
"""Longer than a turn takes."""
TERMINATE = """SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE application_name = 'mnemic' AND pid <> pg_backend_pid()"""


@pytest.fixture
def cable(address: str) -> Generator[Line]:
    with line(address) as laid:
        yield laid


@pytest.fixture
def log(cable: Line) -> Generator[PostgresLog]:
    """Return a log behind a proxy that can be cut, with ``KNOWN`` records in it."""
    with closing(PostgresStore(cable.address)) as store:
        log = store.log("home")
        for version in range(KNOWN):
            log.append(
                records(version, 1),
                [payload(version)],
                after=log.tip,
                commands=(answered(version),),
            )
            log.head()
        yield log


def test_an_append_whose_answer_is_lost_was_written_once(log: PostgresLog, cable: Line) -> None:
    cable.cut_before_the_next_answer()
    assert append(log, KNOWN) == KNOWN
    assert append(log, KNOWN + 1) == KNOWN + 1
    assert contents(log) == whole(KNOWN + 2)


def test_a_lost_append_is_sent_again(log: PostgresLog, cable: Line) -> None:
    cable.cut_before_the_next_question()
    assert append(log, KNOWN) == KNOWN
    assert contents(log) == whole(KNOWN + 1)


def test_a_repeated_append_is_recognised_after_later_ones(
    log: PostgresLog, cable: Line, address: str
) -> None:
    with closing(PostgresStore(address)) as other:
        cable.cut_before_the_next_answer(lambda: went_on.append(append(other.log("home"), 7)))
        went_on: list[int] = []
        assert append(log, KNOWN) == KNOWN
    assert (went_on, contents(log)) == ([KNOWN + 1], whole(KNOWN + 2))


def test_an_append_that_lost_the_race_meanwhile_conflicts(
    log: PostgresLog, cable: Line, address: str
) -> None:
    with closing(PostgresStore(address)) as other:
        first = records(KNOWN, 1, author="first")
        cable.cut_before_the_next_question(
            lambda: heads.append(
                other.log("home").append(first, (), after=other.log("home").head())
            )
        )
        heads: list[Head] = []
        with pytest.raises(VersionConflict):
            append(log, KNOWN)
    assert contents(log) == [*whole(KNOWN), *bare(first)]
    assert log.head() == heads[0]


def test_an_equal_command_of_another_writer_is_not_taken_for_ones_own(
    log: PostgresLog, cable: Line, address: str
) -> None:
    theirs = CommandRow("the same id", b"theirs", KNOWN, KNOWN)
    with closing(PostgresStore(address)) as other:
        cable.cut_before_the_next_question(
            lambda: answer.append(
                other.log("home").append((), (), after=other.log("home").head(), commands=(theirs,))
            )
        )
        answer: list[object] = []
        with pytest.raises(CommandIdReused):
            log.append(
                (), (), after=log.tip, commands=(CommandRow("the same id", b"mine", KNOWN, KNOWN),)
            )
    assert log.command("the same id") == theirs


def test_an_append_whose_outcome_cannot_be_queried_is_in_doubt(cable: Line, address: str) -> None:
    with closing(PostgresStore(cable.address)) as closed, closing(PostgresStore(address)) as other:
        log = closed.log("home")
        for version in range(KNOWN):
            append(log, version)
        cable.cut_before_the_next_answer(closed.close)
        with pytest.raises(StoreFailed) as caught:
            append(log, KNOWN)
        assert "command id" in caught.value.recovery
        assert contents(other.log("home")) == whole(KNOWN + 1)


class FailedOver(Datastore):
    """Is connected to another server, without the last event, when a commit is confirmed."""

    edit: Callable[..., None]

    def confirm(self) -> None:
        self.edit(
            "UPDATE spaces SET version = version - 1, digest = (SELECT substr(state, 1, 32) FROM "
            "stored_events ORDER BY originator_version DESC LIMIT 1)",
            f"DELETE FROM stored_events WHERE originator_version = {KNOWN}",  # noqa: S608
            f"DELETE FROM payloads WHERE version = {KNOWN}",  # noqa: S608
            f"DELETE FROM commands WHERE last = {KNOWN}",  # noqa: S608
        )
        self._forget()
        super().confirm()


def test_an_append_that_was_found_on_a_server_that_failed_is_not_acknowledged(
    address: str, edit: Callable[..., None]
) -> None:
    with line(address) as cable, closing(PostgresStore(cable.address)) as store:
        log = store.log("home")
        for version in range(KNOWN):
            append(log, version)
        datastore = store.recorder.datastore
        datastore.__class__ = FailedOver
        datastore.edit = edit  # type: ignore[attr-defined]
        cable.cut_before_the_next_answer()
        with pytest.raises(VersionConflict):
            append(log, KNOWN)
        assert contents(log) == whole(KNOWN)


def test_a_head_that_was_read_from_a_server_that_failed_is_not_confirmed(
    address: str, edit: Callable[..., None]
) -> None:
    with closing(PostgresStore(address)) as store, closing(PostgresStore(address)) as other:
        for version in range(KNOWN + 1):
            append(other.log("home"), version)
        log = store.log("home")
        head = log.head()
        datastore = store.recorder.datastore
        datastore.__class__ = FailedOver
        datastore.edit = edit  # type: ignore[attr-defined]
        with pytest.raises(HistoryReplaced):
            log.confirm(head)


class Interrupted(Datastore):
    """Raises KeyboardInterrupt at the moment when the server has done what was requested."""

    def once(
        self, statement: bytes, values: Sequence[object] = (), *, more_s: float = 0.0
    ) -> list[Row]:
        super().once(statement, values, more_s=more_s)
        raise KeyboardInterrupt


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # of a fork beside threads
def test_a_forked_process_that_closes_the_store_leaves_its_parent_connected(
    store: PostgresStore,
) -> None:
    session = b"SELECT pg_backend_pid()"
    before = store.recorder.datastore.once(session)
    pid = os.fork()
    if pid == 0:
        store.close()
        os._exit(0)
    os.waitpid(pid, 0)
    assert store.recorder.datastore.once(session) == before


def test_a_write_lock_lost_to_another_session_is_logged(
    address: str, caplog: pytest.LogCaptureFixture
) -> None:
    """As with a pooler of transactions."""
    with (
        closing(Datastore(parsed(address))) as datastore,
        WriteLock(datastore, key=KEY, channel="c").write_lock(),
    ):
        datastore.once(b"SELECT pg_advisory_unlock(%b)", (KEY,))
    assert "must pool sessions" in caplog.text


def test_an_interrupt_leaves_no_lock_with_an_idle_session(address: str, server: str) -> None:
    with (
        closing(Interrupted(parsed(address))) as datastore,
        closing(psycopg.connect(server, autocommit=True)) as other,
    ):
        with (
            pytest.raises(KeyboardInterrupt),
            WriteLock(datastore, key=KEY, channel="c").write_lock(),
        ):
            pass
        other.execute("SET lock_timeout = '10s'")
        other.execute("SELECT pg_advisory_lock(%s)", (KEY,))


def test_a_command_without_records_is_remembered_once(log: PostgresLog, cable: Line) -> None:
    row = CommandRow("nothing to do", b"asked", KNOWN, KNOWN)
    log.append(
        (), (), after=log.tip, commands=(CommandRow("something else", b"asked", KNOWN, KNOWN),)
    )
    cable.cut_before_the_next_answer()
    log.append((), (), after=log.tip, commands=(row,))
    assert log.command(row.id) == row


def test_an_erasure_whose_answer_is_lost_is_done(log: PostgresLog, cable: Line) -> None:
    for version in range(KNOWN, KNOWN + 4):
        log.append(records(version, 1), [payload(version, 0, "a")], after=log.tip, erase=["nobody"])
    cable.cut_before_the_next_answer()
    log.append(records(KNOWN + 4, 1), (), after=log.tip, erase=["a"])
    assert [transfer_records for _, transfer_records in log.read(after=KNOWN - 1)] == [()] * 5


@pytest.mark.parametrize(
    "ask",
    [
        lambda log: log.head().version,
        lambda log: len(contents(log)),
        lambda log: log.digest_at(3),
        lambda log: log.command("command 3"),
    ],
    ids=["head", "read", "digest_at", "command"],
)
@pytest.mark.parametrize(
    "cut", [Line.cut_before_the_next_answer, Line.cut_before_the_next_question]
)
def test_a_query_is_repeated(
    log: PostgresLog, cable: Line, cut: Callable[[Line], None], ask: Callable[[PostgresLog], object]
) -> None:
    before = ask(log)
    cut(cable)
    assert ask(log) == before


def test_killing_the_lock_session_loses_only_the_lock(log: PostgresLog, server: str) -> None:
    with log.write_lock():
        terminate(server)
        assert append(log, KNOWN) == KNOWN
    with log.write_lock():
        assert append(log, KNOWN + 1) == KNOWN + 1
    assert contents(log) == whole(KNOWN + 2)


def test_repeated_kills_of_sessions_lose_and_duplicate_nothing(address: str, server: str) -> None:
    begun: SimpleQueue[float] = SimpleQueue()
    struck: SimpleQueue[None] = SimpleQueue()
    """Waited for: blows that a slow machine has put off would strike one append together."""
    kills = 0

    def kill() -> None:
        nonlocal kills
        with closing(psycopg.connect(server, autocommit=True)) as killer:
            while (delay_s := begun.get()) >= 0:
                threading.Event().wait(delay_s)
                kills += len(killer.execute(TERMINATE).fetchall())
                struck.put(None)

    chance = random.Random(11)  # noqa: S311 - chance, and no secret
    with closing(PostgresStore(address)) as store:
        killing = threading.Thread(target=kill)
        killing.start()
        try:
            log = store.log("home")
            for version in range(TURNS):
                begun.put(chance.uniform(0, DELAY_MAX_S))
                with log.write_lock():
                    assert log.head().version == version - 1
                    assert append(log, version) == version
                struck.get(timeout=PATIENCE_S)
        finally:
            begun.put(-1)
            killing.join()
        assert kills > TURNS / 4  # others came while nobody was connected
        assert contents(log) == whole(TURNS)
        assert [log.command(f"command {each}") for each in range(TURNS)] == [
            answered(each) for each in range(TURNS)
        ]


def terminate(server: str) -> None:
    with closing(psycopg.connect(server, autocommit=True)) as killer:
        killer.execute(TERMINATE)


def test_a_restarting_server_is_awaited_and_a_dead_one_reported() -> None:
    with servers.folder() as folder:
        with servers.running(folder) as address:
            store = PostgresStore(address, reconnect_s=60)
            hasty = PostgresStore(address, reconnect_s=0.2)
            log, other = store.log("home"), hasty.log("home")
            append(log, 0)
            other.head()
        with closing(store), closing(hasty), ThreadPoolExecutor(1) as pool:
            with pytest.raises(StoreFailed) as caught:
                append(other, 1)
            assert "command id" in caught.value.recovery
            with pytest.raises(StoreFailed):
                other.head()
            appending = pool.submit(append, log, 1)
            with servers.running(folder):
                assert appending.result() == 1
                assert contents(log) == contents(other) == whole(2)
