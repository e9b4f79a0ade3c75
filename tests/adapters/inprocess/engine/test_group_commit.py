"""Commands that wait for each other are decided one by one and written in one transaction."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from threading import Barrier, Event, Thread
from typing import Any

import pytest

from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.inprocess.engine.command_queue import GROUP_MAX, CommandQueue
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.kernel.errors import BlockNotFound, MnemicError, SessionState, StoreFull
from mnemic.kernel.ports import Head, Log
from mnemic.projections.state.checkpoint import freeze
from mnemic.projections.state.replay import rebuild
from mnemic.projections.state.state import State
from tests.adapters.inprocess.conftest import Open

SOON_S = 60


class CountingLog:
    """A log that counts its appends."""

    def __init__(self, behind: Log) -> None:
        self._behind = behind
        self.appends: list[int] = []
        """How many events each append wrote."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._behind, name)

    def append(self, records: Sequence[Any], payloads: Sequence[Any], **more: Any) -> Head:
        self.appends.append(len(records))
        return self._behind.append(records, payloads, **more)


class CountingStore(MemoryStore):
    def __init__(self) -> None:
        super().__init__()
        self.counted: CountingLog | None = None

    def log(self, space: str, *, create: bool = True) -> Any:
        if self.counted is None:
            self.counted = CountingLog(super().log(space, create=create))
        return self.counted


@pytest.fixture
def store() -> CountingStore:
    return CountingStore()


@pytest.fixture
def memory(opened: Open, store: CountingStore) -> SyncMemory:
    memory = opened(store)
    memory.learn("bees sleep on the porch")
    return memory


def wait_until(is_so: Callable[[], bool]) -> None:
    """Wait until something is so."""
    deadline = time.monotonic() + SOON_S
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.001)


def wait_until_waiting(queue: CommandQueue[Any], count: int) -> None:
    """Wait until some commands wait in a queue."""
    wait_until(lambda: len(queue) == count)


def waiting_together(
    memory: SyncMemory,
    store: CountingStore,
    calls: Sequence[Callable[[], Any]],
    first: Callable[[], Any] | None = None,
) -> list[Future[Any]]:
    """Let several commands arrive, in order, while the write lock is held; then release it.

    The first command waits for the lock by itself, so all others make up the next group.
    """
    assert store.counted is not None
    store.counted.appends = []
    queue = memory._space.executor._queue  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
    threads = ThreadPoolExecutor(len(calls) + 1)
    with store.counted.write_lock():
        leader = memory.session_handle(actor="first")
        leading = threads.submit(first or partial(leader.learn, "the first to wait"))
        futures: list[Future[Any]] = []
        wait_until(lambda: queue._is_busy)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
        for number, call in enumerate(calls, start=1):
            futures.append(threads.submit(call))
            wait_until_waiting(queue, number)
    leading.result(SOON_S)
    threads.shutdown()
    return futures


def is_as_folded(memory: SyncMemory) -> bool:
    """Return whether the state is the one that the log gives, table by table."""
    space = memory._space  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
    folded = freeze(rebuild(State(), space.recorded(-1)))
    kept = freeze(space.snapshot().state)
    return {name: each.tobytes() for name, each in folded.items()} == {
        name: each.tobytes() for name, each in kept.items()
    }


def test_waiting_commands_are_written_in_one_transaction(
    memory: SyncMemory, store: CountingStore
) -> None:
    handles = [memory.session_handle(actor=f"agent {number}") for number in range(6)]
    calls = [
        partial(handle.learn, f"note {number}", command_id=f"n{number}")
        for number, handle in enumerate(handles)
    ]
    learning = waiting_together(memory, store, calls)
    versions = [each.result(SOON_S).version for each in learning]
    assert store.counted is not None
    assert store.counted.appends == [1, 6]
    assert versions == list(range(versions[0], versions[0] + 6))  # in the order of arrival
    assert [entry.actor for entry in memory.log(after=versions[0] - 1)] == [
        f"agent {number}" for number in range(6)
    ]
    assert [
        one.learn(f"note {n}", command_id=f"n{n}").version for n, one in enumerate(handles)
    ] == (versions)
    assert is_as_folded(memory)
    assert memory.verify().sound


def test_each_command_of_a_group_sees_the_ones_before_it(
    memory: SyncMemory, store: CountingStore
) -> None:
    one, two = memory.session_handle(actor="ann"), memory.session_handle(actor="bob")
    learned, again = waiting_together(
        memory, store, [lambda: one.learn("tea is out"), lambda: two.learn("tea is out")]
    )
    assert again.result(SOON_S).block_id == learned.result(SOON_S).block_id
    assert again.result(SOON_S).action != "created"


def test_a_refused_command_leaves_the_others_of_its_group_alone(
    memory: SyncMemory, store: CountingStore
) -> None:
    handle = memory.session_handle(actor="ann")
    before, refused, after = waiting_together(
        memory,
        store,
        [
            lambda: memory.learn("before"),
            lambda: handle.connect("0" * 16, "1" * 16, "supports"),
            lambda: memory.session_handle(actor="bob").learn("after"),
        ],
    )
    assert isinstance(refused.exception(SOON_S), BlockNotFound)
    assert after.result(SOON_S).version == before.result(SOON_S).version + 1
    assert store.counted is not None
    assert store.counted.appends == [1, 2]
    assert is_as_folded(memory)


def test_one_command_sent_twice_is_written_once(memory: SyncMemory, store: CountingStore) -> None:
    handle = memory.session_handle(actor="ann")
    one, two = waiting_together(memory, store, [lambda: handle.learn("once", command_id="c")] * 2)
    assert one.result(SOON_S) == two.result(SOON_S)
    assert [entry.detail for entry in memory.log() if "once" in entry.detail] == [
        f"{one.result().block_id[:8]} once"
    ]


def test_a_command_is_recognised_behind_others_of_its_group(
    memory: SyncMemory, store: CountingStore
) -> None:
    """The command before the group is the last one that the index of ids knows."""
    once = partial(memory.session_handle(actor="ann").learn, "once", command_id="c")
    other = partial(memory.session_handle(actor="bob").learn, "more")
    learned, again = waiting_together(memory, store, [other, once], first=once)
    assert again.result(SOON_S).version == learned.result(SOON_S).version - 1
    assert [entry.detail for entry in memory.log() if "once" in entry.detail] == [
        f"{again.result().block_id[:8]} once"
    ]


def test_one_of_two_sessions_of_a_handle_is_started(
    memory: SyncMemory, store: CountingStore
) -> None:
    handle = memory.session_handle(actor="ann")
    one, two = waiting_together(memory, store, [handle.start_session] * 2)
    errors = [each.exception(SOON_S) for each in (one, two)]
    assert [type(each) for each in errors] == [type(None), SessionState]
    assert list(memory.status().open_sessions) == [one.result().session_id]


def test_a_group_that_cannot_be_written_is_refused_as_a_whole(
    memory: SyncMemory, store: CountingStore
) -> None:
    handles = [memory.session_handle(actor=f"agent {number}") for number in range(3)]
    before = memory.status().version

    assert store.counted is not None
    original = store.counted.append

    def append(records: Sequence[Any], payloads: Sequence[Any], **more: Any) -> Head:
        if len(records) > 1:
            raise StoreFull("there is no room left")
        return original(records, payloads, **more)

    store.counted.append = append  # type: ignore[method-assign]
    failing = waiting_together(
        memory,
        store,
        [lambda one=one: one.learn("there is no room for it") for one in handles[:1]]
        + [lambda: handles[1].learn("nor for this"), handles[2].start_session],
    )
    assert [type(each.exception(SOON_S)) for each in failing] == [StoreFull] * 3
    del store.counted.append
    assert memory.status().version == before + 1
    assert is_as_folded(memory)
    assert handles[2].start_session().session_id in memory.status().open_sessions
    assert handles[0].learn("there is room now").version == before + 3
    assert memory.verify().sound


def test_an_erasure_is_a_group_of_its_own(memory: SyncMemory, store: CountingStore) -> None:
    secret = memory.learn("a secret").block_id
    handles = [memory.session_handle(actor=f"agent {number}") for number in range(3)]
    before, erased, after = waiting_together(
        memory,
        store,
        [
            lambda: handles[0].learn("before"),
            lambda: handles[1].erase(secret),
            lambda: handles[2].learn("after"),
        ],
    )
    assert store.counted is not None
    assert store.counted.appends == [1, 1, 1, 1]
    assert before.result(SOON_S).version < erased.result(SOON_S).version
    assert erased.result().version < after.result(SOON_S).version
    assert memory.block(secret).content is None
    assert is_as_folded(memory)


def test_many_threads_of_many_handles_agree_with_the_log(opened: Open) -> None:
    memory = opened(MemoryStore())
    ready = Barrier(8)
    failures: list[BaseException] = []

    def write(number: int) -> None:
        handle = memory.session_handle(actor=f"agent {number}")
        ready.wait()
        try:
            with handle.session():
                for turn in range(10):
                    block = handle.learn(f"{number} saw bee {turn}").block_id
                    handle.recall(f"bee {turn}")
                    if turn % 4 == 3:
                        handle.erase(block)
        except (MnemicError, AssertionError) as error:
            failures.append(error)

    threads = [Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert is_as_folded(memory)
    assert memory.verify().sound


# --- the queue ------------------------------------------------------------------------------------


def test_a_queue_carries_out_everything_in_order_and_in_bounded_groups() -> None:
    groups: list[list[int]] = []
    is_begun, is_full = Event(), Event()

    def work(items: Sequence[int]) -> None:
        groups.append(list(items))
        is_begun.set()
        assert is_full.wait(SOON_S)

    queue = CommandQueue(work)
    threads: list[Thread] = []
    for number in range(2 * GROUP_MAX + 1):
        threads.append(Thread(target=queue.run, args=(number,)))
        threads[-1].start()
        assert is_begun.wait(SOON_S)
        wait_until_waiting(queue, number)
    is_full.set()
    for thread in threads:
        thread.join(SOON_S)
    assert [len(group) for group in groups] == [1, GROUP_MAX, GROUP_MAX]
    assert [item for group in groups for item in group] == list(range(2 * GROUP_MAX + 1))


def test_an_error_of_the_work_reaches_one_thread_and_the_queue_goes_on() -> None:
    done: list[str] = []

    def work(items: Sequence[str]) -> None:
        if "bad" in items:
            raise LookupError
        done.extend(items)

    queue = CommandQueue(work)
    with pytest.raises(LookupError):
        queue.run("bad")
    queue.run("good")
    assert done == ["good"]
