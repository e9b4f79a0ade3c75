"""A lock that is granted in the order of requests."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from mnemic.adapters.inprocess.engine.fifo_lock import FifoLock

THREADS = 6
PATIENCE_S = 60.0


def test_threads_get_the_lock_in_the_order_of_requests() -> None:
    lock, order = FifoLock(), list[int]()

    def acquire(number: int) -> None:
        with lock:
            order.append(number)

    with ThreadPoolExecutor(THREADS) as pool:
        with lock:
            futures = []
            for number in range(THREADS):
                futures.append(pool.submit(acquire, number))
                wait_for_queue(number + 1, lock)
        for each in futures:
            each.result(PATIENCE_S)
    assert order == list(range(THREADS))


def test_a_releasing_thread_queues_after_waiting_threads() -> None:
    lock, order = FifoLock(), list[str]()

    def acquire() -> None:
        with lock:
            order.append("waiting")

    with ThreadPoolExecutor(1) as pool:
        with lock:
            futures = pool.submit(acquire)
            wait_for_queue(1, lock)
        with lock:
            order.append("earlier holder")
        futures.result(PATIENCE_S)
    assert order == ["waiting", "earlier holder"]


def test_an_exception_releases_the_lock() -> None:
    lock = FifoLock()
    with pytest.raises(ZeroDivisionError), lock:
        raise ZeroDivisionError
    with lock:
        assert len(lock) == 0


def wait_for_queue(count: int, lock: FifoLock) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while len(lock) < count:
        assert time.monotonic() < deadline, f"{len(lock)} of {count} wait"
        time.sleep(0.001)
