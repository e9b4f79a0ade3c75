"""The helper thread that waits for a lock: it hands it to a caller, or releases it."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import closing
from pathlib import Path

import pytest
from attrs import define, field

from mnemic.adapters.stores.logs.lock_waiter import LockWaiter
from mnemic.adapters.stores.logs.write_lock import WriteLock
from mnemic.kernel.errors import Closed, StoreBusy, StoreFailed

PATIENCE_S = 20.0
"""No wait takes this long unless something is wrong."""
STACK_MAX = 2**46
"""More bytes for a thread than a machine can address at once with everything else in it."""


@define
class FakeLock:
    """A lock whose release is controlled by the test."""

    free: threading.Semaphore = field(factory=lambda: threading.Semaphore(0))
    back: threading.Semaphore = field(factory=lambda: threading.Semaphore(0))
    failure: Exception | None = None

    def acquire(self) -> None:
        assert self.free.acquire(timeout=PATIENCE_S)
        if self.failure is not None:
            raise self.failure

    def release(self) -> None:
        self.back.release()


@pytest.fixture
def fake_lock() -> FakeLock:
    return FakeLock()


@pytest.fixture
def lock_waiter(fake_lock: FakeLock) -> Generator[LockWaiter]:
    waiting = LockWaiter(fake_lock.acquire, fake_lock.release)
    yield waiting
    fake_lock.free.release()
    waiting.dismiss(lambda: None)


def test_a_wait_within_the_timeout_gets_the_lock(
    fake_lock: FakeLock, lock_waiter: LockWaiter
) -> None:
    fake_lock.free.release()
    assert lock_waiter.wait(PATIENCE_S)
    fake_lock.free.release()
    assert lock_waiter.wait(PATIENCE_S)
    assert not fake_lock.back.acquire(blocking=False)


def test_a_lock_acquired_after_the_caller_gave_up_is_released(
    fake_lock: FakeLock, lock_waiter: LockWaiter
) -> None:
    assert not lock_waiter.wait(0.0)
    assert lock_waiter.is_waiting
    fake_lock.free.release()
    assert fake_lock.back.acquire(timeout=PATIENCE_S)
    assert not lock_waiter.is_waiting


def test_the_next_caller_takes_over_an_abandoned_wait(
    fake_lock: FakeLock, lock_waiter: LockWaiter
) -> None:
    assert not lock_waiter.wait(0.0)
    threading.Timer(0.05, fake_lock.free.release).start()  # while the next one waits
    assert lock_waiter.wait(PATIENCE_S)
    assert not fake_lock.back.acquire(blocking=False)


def test_an_error_while_waiting_is_raised_in_the_caller(
    fake_lock: FakeLock, lock_waiter: LockWaiter
) -> None:
    fake_lock.failure = StoreFailed("no such folder")
    fake_lock.free.release()
    with pytest.raises(StoreFailed, match="no such folder"):
        lock_waiter.wait(PATIENCE_S)
    fake_lock.failure = None
    fake_lock.free.release()
    assert lock_waiter.wait(PATIENCE_S)


def test_an_unexpected_error_does_not_end_the_waiting_thread(
    fake_lock: FakeLock, lock_waiter: LockWaiter
) -> None:
    fake_lock.failure = OSError("no such descriptor")
    fake_lock.free.release()
    with pytest.raises(OSError, match="no such descriptor"):
        lock_waiter.wait(PATIENCE_S)
    assert not lock_waiter.is_waiting
    fake_lock.failure = None
    fake_lock.free.release()
    assert lock_waiter.wait(PATIENCE_S)


def test_without_a_thread_the_wait_is_refused_and_later_ones_work(fake_lock: FakeLock) -> None:
    size = threading.stack_size(STACK_MAX)
    try:
        lock_waiter = LockWaiter(fake_lock.acquire, fake_lock.release)
        with pytest.raises(StoreFailed, match="no thread can wait"):
            lock_waiter.wait(PATIENCE_S)
    finally:
        threading.stack_size(size)
    fake_lock.free.release()
    assert lock_waiter.wait(PATIENCE_S)
    lock_waiter.dismiss(lambda: None)


def test_the_lock_file_is_not_closed_during_a_wait(fake_lock: FakeLock) -> None:
    lock_waiter, closed = LockWaiter(fake_lock.acquire, fake_lock.release), threading.Event()
    assert not lock_waiter.wait(0.0)
    lock_waiter.dismiss(closed.set)
    assert not closed.is_set()
    fake_lock.free.release()
    assert fake_lock.back.acquire(timeout=PATIENCE_S)
    assert closed.wait(PATIENCE_S)


def test_an_unused_waiter_is_dismissed_at_once(fake_lock: FakeLock) -> None:
    closed = threading.Event()
    LockWaiter(fake_lock.acquire, fake_lock.release).dismiss(closed.set)
    assert closed.is_set()


# --- the queue of writers -----------------------------------------------------------------------


def test_a_lock_acquired_for_an_abandoned_wait_is_passed_on(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    with closing(WriteLock(path)) as one, closing(WriteLock(path, patience_s=0.0)) as two:
        with one.write_lock(), pytest.raises(StoreBusy), two.write_lock():
            pass
        with one.write_lock():  # the wait of the other has come to its end by then
            pass


def test_a_lock_closed_during_its_wait_is_left_to_others(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    with closing(WriteLock(path)) as one:
        two = WriteLock(path, patience_s=0.0)
        with one.write_lock():
            with pytest.raises(StoreBusy), two.write_lock():
                pass
            two.close()
            two.close()
        with one.write_lock():
            pass
    with pytest.raises(Closed), two.write_lock():
        pass
