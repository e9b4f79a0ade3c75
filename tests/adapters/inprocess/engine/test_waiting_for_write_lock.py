"""Readers do not wait while another process holds the write lock, however long."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.sqlite.store import SQLiteStore
from mnemic.kernel.errors import Closed, SessionState
from mnemic.kernel.ports import Log
from mnemic.kernel.results import SessionResult
from tests.adapters.inprocess.conftest import Open
from tests.adapters.inprocess.engine.contended_logs import WaitReportingLog

SOON_S = 60
"""Time limit for anything expected, generous enough for the slowest machine."""


class WaitReportingStore(SQLiteStore):
    """A SQLite store whose logs report waiting writers."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, synchronous="normal")
        self.waiting = threading.Semaphore(0)
        """Released once per writer that begins to wait."""

    def log(self, space: str, *, create: bool = True) -> Any:
        return WaitReportingLog(super().log(space, create=create), self.waiting.release)


@pytest.fixture
def file(path: Path) -> Generator[WaitReportingStore]:
    store = WaitReportingStore(path)
    yield store
    store.close()


@pytest.fixture
def memory(opened: Open, file: WaitReportingStore) -> SyncMemory:
    memory = opened(file)
    memory.learn("bees sleep on the porch")
    memory.consolidate()
    return memory


@pytest.fixture
def elsewhere(path: Path, memory: SyncMemory) -> Generator[Log]:
    """The same log, opened as by another process; the space exists already."""
    assert memory.status().version
    store = SQLiteStore(path, synchronous="normal")
    yield store.log("default")
    store.close()


@pytest.fixture
def threads() -> Generator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(8) as pool:
        yield pool


def waiting_operations(
    operation: Callable[[], Any],
    file: WaitReportingStore,
    threads: ThreadPoolExecutor,
    times: int = 1,
) -> list[Future[Any]]:
    """Start an operation *times* times, and wait until one of them waits for the write lock."""
    running = [threads.submit(operation) for _ in range(times)]
    assert file.waiting.acquire(timeout=SOON_S)
    return running


READS: dict[str, Callable[[SyncMemory], object]] = {
    "status": lambda memory: memory.status().version,
    "recall": lambda memory: memory.recall("bees", record=False).block_ids,
    "blocks": lambda memory: memory.blocks().items,
    "as_of": lambda memory: memory.as_of(version=2).status().version,
    "verify": lambda memory: memory.verify().sound,
    "session_handle": lambda memory: memory.session_handle(actor="ines").policy.id,
    "curate with nothing to do": lambda memory: memory.curate().archived,
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_readers_proceed_while_a_writer_waits_for_another_process(
    memory: SyncMemory,
    elsewhere: Log,
    file: WaitReportingStore,
    read: Callable[[SyncMemory], object],
) -> None:
    before = read(memory)
    with ThreadPoolExecutor() as threads, elsewhere.write_lock():
        (learning,) = waiting_operations(lambda: memory.learn("wasps do not"), file, threads)
        assert threads.submit(read, memory).result(SOON_S) == before
        assert not learning.done()
    assert learning.result(SOON_S).version == memory.status().version


def test_a_writer_waiting_when_the_space_is_closed_writes_nothing(
    memory: SyncMemory, elsewhere: Log, file: WaitReportingStore, threads: ThreadPoolExecutor
) -> None:
    head = elsewhere.head()
    with elsewhere.write_lock():
        running = waiting_operations(lambda: memory.learn("wasps do not"), file, threads, times=3)
        memory.close()
    assert [type(each.exception(SOON_S)) for each in running] == [Closed] * 3
    assert elsewhere.head() == head


def test_one_of_two_concurrent_session_starts_on_a_handle_succeeds(
    memory: SyncMemory, elsewhere: Log, file: WaitReportingStore, threads: ThreadPoolExecutor
) -> None:
    with elsewhere.write_lock():
        running = waiting_operations(memory.start_session, file, threads, times=2)
    errors = [each.exception(SOON_S) for each in running]
    assert [type(each) for each in errors if each] == [SessionState]
    started: list[SessionResult] = [each.result() for each in running if not each.exception()]
    assert [each.session_id for each in started] == list(memory.status().open_sessions)


@pytest.mark.usefixtures("memory")
def test_many_mixed_operations_next_to_another_process_terminate(
    opened: Open, path: Path, file: WaitReportingStore, threads: ThreadPoolExecutor
) -> None:
    memory, other = opened(file), opened(path)

    def lessons(of: SyncMemory, who: str) -> None:
        for number in range(20):
            of.learn(f"{who} saw bee {number}")

    def sessions(of: SyncMemory) -> None:
        for number in range(5):
            with of.session():
                of.recall(f"bee {number}", explore=0.5)

    def mixed(of: SyncMemory) -> None:
        for number in range(5):
            block = of.learn(f"a secret {number}").block_id
            of.consolidate()
            of.curate()
            of.erase(block)
            of.recall("bee", suggest=True)

    def reads(of: SyncMemory) -> None:
        for number in range(20):
            of.recall(f"bee {number}", record=False)
            of.checkpoints()

    running = [
        threads.submit(lessons, memory.session_handle(actor="ann"), "ann"),
        threads.submit(lessons, other.session_handle(actor="bob"), "bob"),
        threads.submit(sessions, memory.session_handle(actor="cid")),
        threads.submit(sessions, other.session_handle(actor="dan")),
        threads.submit(mixed, memory.session_handle(actor="eve")),
        threads.submit(reads, memory.session_handle(actor="fay", read_only=True)),
        threads.submit(reads, other.session_handle(actor="gus", read_only=True)),
    ]
    assert [each.result(60) for each in running] == [None] * len(running)
    assert memory.verify().sound
    assert memory.status() == other.status()
