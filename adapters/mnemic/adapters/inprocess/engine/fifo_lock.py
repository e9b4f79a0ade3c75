"""A lock that is granted in the order of requests.

A lock of the interpreter goes to whichever thread asks at the right moment, most often to the one
that has just released it: of eight threads that wrote, one got it eight times as often as another.
"""

from __future__ import annotations

from collections import deque
from threading import Lock
from types import TracebackType


class FifoLock:
    """First-in-first-out lock between threads. Not re-entrant."""

    def __init__(self) -> None:
        self._mutex = Lock()
        """Protects the fields below; never held for long."""
        self._is_taken = False
        self._waiting: deque[Lock] = deque()
        """A locked lock per waiting thread, released when the thread is granted this lock."""

    def __len__(self) -> int:
        """Return the number of waiting threads."""
        return len(self._waiting)

    def __enter__(self) -> None:
        """Wait until all earlier threads have released the lock."""
        with self._mutex:
            if not self._is_taken:
                self._is_taken = True
                return
            waiter = Lock()
            waiter.acquire()
            self._waiting.append(waiter)
        try:
            waiter.acquire()
        except BaseException:  # an interrupt
            self._leave_queue(waiter)
            raise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Grant the lock to the next waiting thread."""
        with self._mutex:
            self._admit_next()

    def _leave_queue(self, waiter: Lock) -> None:
        with self._mutex:
            if waiter in self._waiting:
                self._waiting.remove(waiter)
            else:  # the lock was granted at the same moment: pass it on
                self._admit_next()

    def _admit_next(self) -> None:
        if self._waiting:
            self._waiting.popleft().release()
        else:
            self._is_taken = False
