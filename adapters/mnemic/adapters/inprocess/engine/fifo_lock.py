"""A re-entrant lock that is granted in the order of requests.

``threading.Lock`` is granted in no fixed order, and often to the thread that has just released
it: of eight writing threads, one got it eight times as often as another.
"""

from __future__ import annotations

from collections import deque
from threading import Lock, get_ident
from types import TracebackType


class FifoLock:
    """First-in-first-out lock between threads. The thread that holds it may acquire it again."""

    def __init__(self) -> None:
        self._mutex = Lock()
        """Protects the fields below; never held for long."""
        self._owner: int | None = None
        """The thread that holds the lock."""
        self._depth = 0
        """How often its owner has acquired it."""
        self._waiting: deque[tuple[int, Lock]] = deque()
        """The waiting threads, each with a locked lock that is released when its turn comes."""

    def __len__(self) -> int:
        """Return the number of waiting threads."""
        return len(self._waiting)

    @property
    def is_mine(self) -> bool:
        """Whether the calling thread holds the lock."""
        return self._owner == get_ident()

    def __enter__(self) -> None:
        """Acquire the lock, after all threads that requested it earlier."""
        me = get_ident()
        with self._mutex:
            if self._owner is None or self._owner == me:
                self._owner = me
                self._depth += 1
                return
            waiter = Lock()
            waiter.acquire()
            self._waiting.append((me, waiter))
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
        """Release the lock; the last release grants it to the thread that has waited longest."""
        with self._mutex:
            self._depth -= 1
            if not self._depth:
                self._admit_next()

    def _leave_queue(self, waiter: Lock) -> None:
        """Withdraw the request of this thread."""
        with self._mutex:
            entry = (get_ident(), waiter)
            if entry in self._waiting:
                self._waiting.remove(entry)
            else:  # the lock was granted at the same moment: pass it on
                self._admit_next()

    def _admit_next(self) -> None:
        """Grant the lock to the next waiting thread. The mutex is held."""
        if self._waiting:
            self._owner, waiter = self._waiting.popleft()
            self._depth = 1
            waiter.release()
        else:
            self._owner, self._depth = None, 0
