"""Queue of commands that are carried out in groups, in the order of their arrival.

No thread of its own works for it. The first thread that comes carries out its command at once; what
arrives meanwhile is carried out together by the thread that came first among them. So a single
caller pays for no hand-over, and many callers share one transaction.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from threading import Lock
from typing import Generic, TypeVar

from attrs import define, field

T = TypeVar("T")

GROUP_MAX = 64
"""Commands of one group: bounds how long the first of them waits for the others."""


def _locked() -> Lock:
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
    """First-in-first-out queue whose waiting threads carry out groups of its items.

    Args:
        work: Carries out a group of items, one group at a time, in the order of the queue. What
            becomes of each item is its own affair: an error that it raises reaches one thread only.
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
        """Return once *item* was carried out, by this thread or by another one.

        An interrupt of a waiting thread withdraws its item, unless it is being carried out.
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
        """Carry out *item*, and what has arrived by now."""
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
        """Let the first waiting thread carry out the next group."""
        if self._waiting:
            leader = self._waiting.popleft()
            leader.is_leader = True
            leader.wakes.release()
        else:
            self._is_busy = False
