"""The queue of those who want to write one file.

Left alone, a busy writer starves the others: SQLite lets them sleep for ever longer, and it has
the file back before they wake. So a writer first takes two locks beside the database. Behind the
gate waits one writer at a time, and whoever just wrote must pass the gate again, where the next
one already stands. The queue orders writers and nothing more: an append that does without it is
as safe, only less fair.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from threading import Lock
from types import TracebackType

from filelock import lock_descriptor, unlock_descriptor

from mnemic.adapters.folders import made_like
from mnemic.adapters.stores.waiting import StandIn
from mnemic.kernel.errors import Closed, StoreBusy, StoreFailed

PATIENCE_S = 30.0
STEP_S = 0.0002
"""Between two looks at a lock that is taken: about the time of one durable append."""


class WriterQueue:
    """One writer at a time, among the threads of this process and among processes.

    Args:
        database: The file; the lock files are made beside it with the first turn.
        patience_s: After waiting this long for another writer, give up.
    """

    def __init__(self, database: Path, *, patience_s: float = PATIENCE_S) -> None:
        self._patience_s = patience_s
        self._gate = Sidecar(database.with_name(f"{database.name}.gate"), of=database)
        self._turn = Sidecar(database.with_name(f"{database.name}.lock"), of=database)
        self._threads = Lock()
        self._stand_in = StandIn(self._come_through, self._turn.give_back)
        self._is_closed = False
        self._process = os.getpid()
        self._held = _Turn(self._begin, self._end)

    def turn(self) -> AbstractContextManager[None]:
        """Hold the right to write. Not re-entrant.

        Raises:
            Closed: If the queue is closed.
            StoreBusy: If another writer holds it for too long.
            StoreFailed: If a lock file cannot be made or locked, or the process was forked since.
        """
        return self._held

    def turn_if_free(self) -> AbstractContextManager[bool]:
        """Hold the right to write if it is to be had at once; say whether it is held.

        Raises:
            Closed, StoreFailed: As ``turn``.
        """
        return _Chance(self._begin_if_free, self._end)

    def _begin(self) -> None:
        self._check_process()
        deadline = time.monotonic() + self._patience_s
        if not self._threads.acquire(timeout=self._patience_s):
            raise self._turn.busy()
        try:
            self._take(deadline)
        except BaseException:
            self._threads.release()
            raise

    def _take(self, deadline: float) -> None:
        """Wait for the turn until the clock ``time.monotonic`` shows *deadline*."""
        if not self._is_free() and not self._stand_in.wait(deadline - time.monotonic()):
            raise self._turn.busy()

    def _begin_if_free(self) -> bool:
        self._check_process()
        if not self._threads.acquire(blocking=False):
            return False
        is_ours = False
        try:
            is_ours = self._is_free()
        finally:
            if not is_ours:
                self._threads.release()
        return is_ours

    def _check_process(self) -> None:
        if self._process != os.getpid():  # a lock that is carried along is held by both at once
            raise StoreFailed(
                f"the queue at {self._turn.path} was made by another process",
                recovery="Open the store after the fork, in each process for itself.",
                path=str(self._turn.path),
            )

    def _end(self) -> None:
        try:
            self._turn.give_back()
        finally:
            self._threads.release()

    def _is_free(self) -> bool:
        """Take the turn, if no other process is before us; among the threads it is ours."""
        if self._is_closed:
            raise Closed(f"the queue at {self._turn.path} is closed")
        # Where an earlier wait goes on, a lock taken here would be shared with it.
        if self._stand_in.stands or not self._gate.taken():
            return False
        try:
            return self._turn.taken()
        finally:
            self._gate.give_back()

    def _come_through(self) -> None:
        """Wait for the turn as long as it takes."""
        self._gate.wait()
        try:
            self._turn.wait()
        finally:
            self._gate.give_back()

    def close(self) -> None:
        """Close the lock files; they stay on the disk, for others may be waiting at them."""
        with self._threads:
            if not self._is_closed:
                self._is_closed = True
                self._stand_in.dismiss(self._close)

    def _close(self) -> None:
        self._gate.close()
        self._turn.close()


class _Turn(AbstractContextManager[None]):
    """A turn at a queue, by what begins and ends it: one for all, as they never overlap."""

    def __init__(self, begin: Callable[[], None], end: Callable[[], None]) -> None:
        self._begin = begin
        self._end = end

    def __enter__(self) -> None:
        self._begin()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end()


class _Chance(AbstractContextManager[bool]):
    """A turn that is had at once or not at all; to be entered once."""

    def __init__(self, begin: Callable[[], bool], end: Callable[[], None]) -> None:
        self._begin = begin
        self._end = end
        self._is_ours = False

    def __enter__(self) -> bool:
        self._is_ours = self._begin()
        return self._is_ours

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._is_ours:
            self._end()


class Sidecar:
    """A lock on a file beside the database.

    Its descriptor stays open between turns: ``filelock.FileLock`` opens its file anew for each,
    which takes seventy microseconds where this takes two. Do not carry it across a fork.

    Args:
        path: Where it stands, or will.
        of: What it locks. Its permissions are those of the lock when that is made; None: only the
            owner may lock.
    """

    def __init__(self, path: Path, *, of: Path | None = None) -> None:
        self.path = path
        self._of = of
        self._descriptor: int | None = None

    def taken(self) -> bool:
        """Take the lock if it is free, and say whether it was.

        Raises:
            StoreFailed: The file cannot be made or locked.
        """
        try:
            return lock_descriptor(self._opened(), blocking=False)
        except OSError as error:
            raise self._failed(error) from error

    def take(self, deadline: float) -> None:
        """Wait for the lock until the clock ``time.monotonic`` shows *deadline*.

        Raises:
            StoreBusy, StoreFailed: It is not to be had by then, or not at all.
        """
        while not self.taken():
            if time.monotonic() > deadline:
                raise self.busy()
            time.sleep(STEP_S)

    def wait(self) -> None:
        """Wait for the lock as long as it takes, asleep until it is ours.

        Raises:
            StoreFailed: The file cannot be made or locked.
        """
        try:
            _wait_for(self._opened())
        except OSError as error:
            raise self._failed(error) from error

    def _opened(self) -> int:
        if self._descriptor is None:
            # Whoever may write what it locks may lock it, and nobody else.
            self._descriptor = made_like(self.path, of=self._of)
        return self._descriptor

    def _failed(self, error: OSError) -> StoreFailed:
        """Return the error for what the system refuses, with the path."""
        return StoreFailed(f"cannot lock {self.path}: {error}", path=str(self.path))

    def give_back(self) -> None:
        """Let the next one in."""
        if self._descriptor is not None:
            unlock_descriptor(self._descriptor)

    def close(self) -> None:
        """Close the file."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def busy(self) -> StoreBusy:
        """Return the error for a wait in vain."""
        return StoreBusy(f"another writer has held {self.path} for too long", path=str(self.path))


if sys.platform == "win32":

    def _wait_for(descriptor: int) -> None:
        lock_descriptor(descriptor, poll_interval=STEP_S)

else:
    import fcntl

    def _wait_for(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX)  # asleep, where looking again and again costs much
