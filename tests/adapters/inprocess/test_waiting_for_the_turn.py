"""Another process may have the turn to write for as long as it likes: readers here do not wait."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from mnemic.adapters.entropy import SeededEntropy
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.inprocess.folding import Folded
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.stores.sqlite.store import SQLiteStore
from mnemic.kernel.errors import Closed, SessionState
from mnemic.kernel.ports import Log
from mnemic.kernel.results import SessionResult
from tests.adapters.inprocess.conftest import Open
from tests.adapters.inprocess.queues import Announced

SOON_S = 60
"""Until then everything has happened that is going to, on the slowest machine."""


class File(SQLiteStore):
    """A file whose logs tell."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, synchronous="normal")
        self.waiting = threading.Semaphore(0)
        """As many as have begun to wait."""

    def log(self, space: str, *, create: bool = True) -> Any:
        return Announced(super().log(space, create=create), self.waiting.release)


@pytest.fixture
def file(path: Path) -> Generator[File]:
    store = File(path)
    yield store
    store.close()


@pytest.fixture
def memory(opened: Open, file: File) -> SyncMemory:
    memory = opened(file)
    memory.learn("bees sleep on the porch")
    memory.consolidate()
    return memory


@pytest.fixture
def elsewhere(path: Path, memory: SyncMemory) -> Generator[Log]:
    """The same log, as another process has it open; the memory is there already."""
    assert memory.status().version
    store = SQLiteStore(path, synchronous="normal")
    yield store.log("default")
    store.close()


@pytest.fixture
def threads() -> Generator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(8) as pool:
        yield pool


def begun(
    verb: Callable[[], Any], file: File, threads: ThreadPoolExecutor, times: int = 1
) -> list[Future[Any]]:
    """Begin a verb so many times, and wait until one of them waits for the turn."""
    running = [threads.submit(verb) for _ in range(times)]
    assert file.waiting.acquire(timeout=SOON_S)
    return running


READS: dict[str, Callable[[SyncMemory], object]] = {
    "status": lambda memory: memory.status().version,
    "recall": lambda memory: memory.recall("bees", record=False).block_ids,
    "blocks": lambda memory: memory.blocks().items,
    "as_of": lambda memory: memory.as_of(version=2).status().version,
    "verify": lambda memory: memory.verify().sound,
    "seat": lambda memory: memory.seat(actor="ines").policy.id,
    "curate with nothing to do": lambda memory: memory.curate().archived,
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_whoever_reads_goes_on_while_a_writer_waits_for_another_process(
    memory: SyncMemory, elsewhere: Log, file: File, read: Callable[[SyncMemory], object]
) -> None:
    before = read(memory)
    with ThreadPoolExecutor() as threads, elsewhere.writing():
        (learning,) = begun(lambda: memory.learn("wasps do not"), file, threads)
        assert threads.submit(read, memory).result(SOON_S) == before
        assert not learning.done()
    assert learning.result(SOON_S).version == memory.status().version


def test_whoever_waits_when_the_space_is_closed_writes_nothing(
    memory: SyncMemory, elsewhere: Log, file: File, threads: ThreadPoolExecutor
) -> None:
    head = elsewhere.head()
    with elsewhere.writing():
        running = begun(lambda: memory.learn("wasps do not"), file, threads, times=3)
        memory.close()
    assert [type(each.exception(SOON_S)) for each in running] == [Closed] * 3
    assert elsewhere.head() == head


def test_of_two_who_start_a_session_on_one_seat_one_does(
    memory: SyncMemory, elsewhere: Log, file: File, threads: ThreadPoolExecutor
) -> None:
    with elsewhere.writing():
        running = begun(memory.start_session, file, threads, times=2)
    errors = [each.exception(SOON_S) for each in running]
    assert [type(each) for each in errors if each] == [SessionState]
    started: list[SessionResult] = [each.result() for each in running if not each.exception()]
    assert [each.session_id for each in started] == list(memory.status().open_sessions)


def test_whoever_has_the_turn_is_let_in_before_all_who_read() -> None:
    store, order = MemoryStore(), list[str]()
    folded = Folded(store.log("home"), entropy=SeededEntropy("any"), read_only=False)

    def write() -> None:
        with folded.turn():
            order.append("writer")

    def read() -> None:
        with folded.guard:
            order.append("reader")

    with folded.guard:
        writer = threading.Thread(target=write)
        writer.start()
        while not folded._ahead.locked():  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
            pass
        readers = [threading.Thread(target=read) for _ in range(4)]
        for reader in readers:
            reader.start()
        with folded.guard:  # whoever has it already is not held up
            order.append("holder")
    for thread in (writer, *readers):
        thread.join()
    assert order == ["holder", "writer", *["reader"] * 4]


def test_whoever_writes_is_let_in_before_all_who_read(
    memory: SyncMemory, threads: ThreadPoolExecutor
) -> None:
    space = memory._space  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
    deadline = time.monotonic() + SOON_S
    with space.guard:
        learning = threads.submit(memory.learn, "wasps do not")
        while not space._ahead.locked():  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
            assert time.monotonic() < deadline
        looking = [threads.submit(memory.status) for _ in range(4)]
    learned = learning.result(SOON_S)
    assert [each.result(SOON_S).version for each in looking] == [learned.version] * 4


@pytest.mark.usefixtures("memory")
def test_many_who_do_all_sorts_of_things_beside_another_process_all_come_to_an_end(
    opened: Open, path: Path, file: File, threads: ThreadPoolExecutor
) -> None:
    memory, other = opened(file), opened(path)

    def lessons(of: SyncMemory, who: str) -> None:
        for number in range(20):
            of.learn(f"{who} saw bee {number}")

    def sessions(of: SyncMemory) -> None:
        for number in range(5):
            with of.session():
                of.recall(f"bee {number}", explore=0.5)

    def all_sorts(of: SyncMemory) -> None:
        for number in range(5):
            block = of.learn(f"a secret {number}").block_id
            of.consolidate()
            of.curate()
            of.erase(block)
            of.recall("bee", suggest=True)

    def looks(of: SyncMemory) -> None:
        for number in range(20):
            of.recall(f"bee {number}", record=False)
            of.checkpoints()

    running = [
        threads.submit(lessons, memory.seat(actor="ann"), "ann"),
        threads.submit(lessons, other.seat(actor="bob"), "bob"),
        threads.submit(sessions, memory.seat(actor="cid")),
        threads.submit(sessions, other.seat(actor="dan")),
        threads.submit(all_sorts, memory.seat(actor="eve")),
        threads.submit(looks, memory.seat(actor="fay", read_only=True)),
        threads.submit(looks, other.seat(actor="gus", read_only=True)),
    ]
    assert [each.result(60) for each in running] == [None] * len(running)
    assert memory.verify().sound
    assert memory.status() == other.status()
