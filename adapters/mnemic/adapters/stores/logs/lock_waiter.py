"""Helper thread that blocks on a lock so that the caller can time out.

The operating system suspends threads that wait for a lock and wakes them in order, which is cheap
and fair. But such a wait cannot time out. So a thread does the waiting, and the caller may give up;
a lock that the thread acquires after that is released again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from mnemic.kernel.errors import StoreFailed


class LockWaiter:
    """A thread that waits for a lock, for one caller at a time.

    Args:
        acquire: Blocks until the lock is acquired; what it raises is passed on.
        release: Releases the lock if the caller has given up.
    """

    def __init__(self, acquire: Callable[[], None], release: Callable[[], None]) -> None:
        self._acquire = acquire
        self._release = release
        self._requests = threading.Semaphore(0)
        self._acquired = threading.Semaphore(0)
        self._lock = threading.Lock()
        """Guards all fields below."""
        self._is_waiting = False
        self._is_wanted = False
        self._failure: Exception | None = None
        self._at_end: Callable[[], None] | None = None
        """Called when the thread ends; None: it keeps running."""
        self._thread: threading.Thread | None = None

    @property
    def is_waiting(self) -> bool:
        """Whether the thread is waiting now, for a caller or for one that has given up."""
        with self._lock:
            return self._is_waiting

    def wait(self, patience_s: float) -> bool:
        """Wait for at most so long, and return whether the lock was acquired.

        Raises:
            StoreFailed: The lock cannot be acquired, or no thread can be started to wait for it.
        """
        try:
            self._request()
            came = self._acquired.acquire(timeout=max(0.0, patience_s))
        except BaseException:  # an interrupt
            if self._cancel():
                self._release()
            raise
        if not came and not self._cancel():
            return False
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure
        return True

    def _request(self) -> None:
        with self._lock:
            if self._thread is None:
                self._thread = self._start()
            # It may be waiting still, for a caller that gave up.
            self._is_wanted = self._is_waiting = True
        self._requests.release()  # an extra release is harmless, a missing one is not

    def _start(self) -> threading.Thread:
        thread = threading.Thread(target=self._work, name="mnemic-queue", daemon=True)
        try:
            thread.start()
        except RuntimeError as error:
            raise StoreFailed(
                f"another writer holds the write lock, and no thread can wait for it: {error}",
                recovery="Let this process have more threads, and repeat; nothing was written.",
            ) from error
        return thread

    def _cancel(self) -> bool:
        """Cancel the request; return whether the wait ended at that very moment."""
        with self._lock:
            self._is_wanted = False
            return self._acquired.acquire(blocking=False)

    def _work(self) -> None:
        while True:
            self._requests.acquire()
            if self._is_waiting:
                self._wait_for_lock()
            with self._lock:
                if self._at_end is not None:
                    self._at_end()
                    return

    def _wait_for_lock(self) -> None:
        failure = None
        try:
            self._acquire()
        except Exception as error:  # noqa: BLE001 - raised again in the caller
            failure = error
        with self._lock:
            self._is_waiting = False
            if self._is_wanted:
                self._is_wanted, self._failure = False, failure
                self._acquired.release()
            elif failure is None:
                self._release()

    def dismiss(self, last: Callable[[], None]) -> None:
        """End the thread, and call *last* as soon as it is not waiting any more.

        It is called before this returns, unless the thread still waits for a caller that gave up.
        """
        with self._lock:
            self._at_end, is_waiting = last, self._is_waiting
        if self._thread is None:
            last()
        elif not is_waiting:
            self._requests.release()
            self._thread.join()
