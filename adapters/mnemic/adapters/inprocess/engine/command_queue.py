"""Queue of commands that are carried out in groups, in the order of their arrival.

The queue has no thread of its own. The first thread carries out its command at once; commands that
arrive meanwhile are carried out together by the thread that has waited longest. So a single caller
hands nothing over to another thread, and many callers share one transaction.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from threading import Lock
from typing import Generic, TypeVar

from attrs import define, field

T = TypeVar("T")

GROUP_MAX = 64
"""Most commands of one group. It limits how long the first of them waits for the others."""


def _locked() -> Lock:
    """Return a lock that is held."""
    lock = Lock()
    lock.acquire()
    return lock


@define(eq=False)
class _Entry(Generic[T]):
    """One command in the queue."""

    item: T
    wakes: Lock = field(factory=_locked)
    """Released when the command is done, or when its thread is to carry out the next group."""
    is_done: bool = False
    is_leader: bool = False


class CommandQueue(Generic[T]):
    """First-in-first-out queue of which a waiting thread carries out the next group.

    Args:
        work: Carries out a group of items, at most ``GROUP_MAX``, in the order of the queue; it is
            called by one thread at a time. It records the outcome in each item: an error that it
            raises reaches only the thread that called it.
    """

    def __init__(self, work: Callable[[Sequence[T]], None]) -> None:
        self._work = work
        self._mutex = Lock()
        """Protects the fields below; never held for long."""
        self._is_busy = False
        self._waiting: deque[_Entry[T]] = deque()

    def __len__(self) -> int:
        """Return the number of waiting items."""
        return len(self._waiting)

    def run(self, item: T) -> None:
        """Carry out *item*, or wait until another thread has.

        An interrupt of a waiting thread withdraws its item, unless it is being carried out.

        Raises:
            Exception: What ``work`` raised in this thread.
        """
        entry: _Entry[T] | None = None
        with self._mutex:
            if self._is_busy:
                entry = _Entry(item)
                self._waiting.append(entry)
            else:
                self._is_busy = True
        if entry is not None:
            self._wait(entry)
            if entry.is_done:
                return
        self._lead(item)

    def _wait(self, entry: _Entry[T]) -> None:
        """Wait until *entry* is done or its thread is to lead; after an interrupt, withdraw it."""
        try:
            entry.wakes.acquire()
        except BaseException:  # an interrupt
            with self._mutex:
                if entry in self._waiting:
                    self._waiting.remove(entry)
                elif entry.is_leader:
                    self._appoint()
            raise

    def _lead(self, item: T) -> None:
        """Carry out *item* together with the first waiting items."""
        with self._mutex:
            others = [
                self._waiting.popleft() for _ in range(min(len(self._waiting), GROUP_MAX - 1))
            ]
        try:
            self._work([item, *(each.item for each in others)])
        finally:
            with self._mutex:
                self._appoint()
            for each in others:
                each.is_done = True
                each.wakes.release()

    def _appoint(self) -> None:
        """Wake the first waiting thread to carry out the next group. The mutex is held."""
        if self._waiting:
            leader = self._waiting.popleft()
            leader.is_leader = True
            leader.wakes.release()
        else:
            self._is_busy = False
