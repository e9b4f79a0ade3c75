"""Lock for the writers of one file, between threads and between processes.

A writer that finds the file taken sleeps longer and longer in SQLite, so a busy writer starves the
others. Writers therefore first lock a file beside the store, and wait for that lock in the
operating system. The lock orders writers and nothing more: an append without it is as safe, only
less fair.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, closing, suppress
from pathlib import Path
from threading import Lock
from types import TracebackType

from mnemic.adapters.stores.logs.lock_waiter import LockWaiter
from mnemic.adapters.system import descriptor_locks, forks
from mnemic.adapters.system.folders import made_like
from mnemic.kernel.errors import Closed, StoreBusy, StoreFailed

ENDING = ".heads"
"""What the name of the lock file adds to that of the database."""
OLDER = (".gate", ".lock")
"""The same of the lock files of releases before 0.5."""
PATIENCE_S = 30.0


def lock_file(database: Path) -> Path:
    """Return the path of the file next to a database that is its write lock and its watermark."""
    return database.with_name(f"{database.name}{ENDING}")


def drop_older(database: Path) -> None:
    """Delete both lock files of earlier releases, unless a writer of one holds them."""
    files = [database.with_name(f"{database.name}{ending}") for ending in OLDER]
    if all(map(os.path.exists, files)):  # one alone may be a file of the host
        for old in map(LockFile, files):
            with closing(old), suppress(OSError, StoreFailed):
                if old.taken():
                    old.path.unlink()


class WriteLock:
    """One writer at a time, among the threads of this process and among processes.

    Args:
        database: The file; its lock file is made when the lock is first taken.
        patience_s: How long to wait for other writers before giving up.
    """

    def __init__(self, database: Path, *, patience_s: float = PATIENCE_S) -> None:
        self._patience_s = patience_s
        self._write_lock = LockFile(lock_file(database), of=database)
        self._threads = Lock()
        self._lock_waiter = LockWaiter(self._write_lock.wait, self._write_lock.give_back)
        self._is_closed = False
        self._process = forks.OpeningProcess(f"the store at {database}")
        self._held = _Holding(self._begin, self._end)

    def write_lock(self) -> AbstractContextManager[None]:
        """Hold the write lock. Not re-entrant.

        Raises:
            Closed: If the lock is closed.
            StoreBusy: If another writer holds it for too long.
            StoreFailed: If the lock file cannot be made or locked, or the process was forked since.
        """
        return self._held

    def _begin(self) -> None:
        self._process.check()
        deadline = time.monotonic() + self._patience_s
        if not self._threads.acquire(timeout=self._patience_s):
            raise self._write_lock.busy()
        try:
            self._take(deadline)
        except BaseException:
            self._threads.release()
            raise

    def _take(self, deadline: float) -> None:
        """Wait for the lock until the clock ``time.monotonic`` shows *deadline*."""
        if not self._is_free() and not self._lock_waiter.wait(deadline - time.monotonic()):
            raise self._write_lock.busy()

    def _end(self) -> None:
        try:
            self._write_lock.give_back()
        finally:
            self._threads.release()

    def _is_free(self) -> bool:
        """Take the lock between processes if it is free; the one between threads is held."""
        if self._is_closed:
            raise Closed(f"the write lock at {self._write_lock.path} is closed")
        # While an earlier wait goes on, a lock taken here would be shared with it.
        return not self._lock_waiter.is_waiting and self._write_lock.taken()

    def close(self) -> None:
        """Close the lock file; it stays on the disk, for others may be waiting at it."""
        if self._process.is_another:
            return
        with self._threads:
            if not self._is_closed:
                self._is_closed = True
                self._lock_waiter.dismiss(self._write_lock.close)


class _Holding(AbstractContextManager[None]):
    """Context manager of the lock: one instance for all uses, as they never overlap."""

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


class LockFile:
    """A lock on a file next to the database.

    Its descriptor stays open between uses: ``filelock.FileLock`` opens its file anew for each,
    which takes seventy microseconds where this takes two.

    Args:
        path: The lock file; it is made when needed.
        of: What it locks. Its permissions are those of the lock when that is made; None: only the
            owner may lock.
    """

    def __init__(self, path: Path, *, of: Path | None = None) -> None:
        self.path = path
        self._of = of
        self._descriptor: int | None = None
        forks.take_part(self)

    def before_fork(self) -> None:
        """Do nothing: the parent may hold the lock."""

    def after_fork(self, *, in_child: bool) -> None:
        """Close the file in the child, which would otherwise hold the parent's lock too."""
        if in_child:
            self.close()

    def taken(self) -> bool:
        """Take the lock if it is free, and return whether it was.

        Raises:
            StoreFailed: The file cannot be made or locked.
        """
        try:
            return descriptor_locks.take(self._opened())
        except OSError as error:
            raise self._failed(error) from error

    def take(self, deadline: float) -> None:
        """Wait for the lock until the clock ``time.monotonic`` shows *deadline*.

        Raises:
            StoreBusy, StoreFailed: It is still taken by then, or cannot be taken at all.
        """
        while not self.taken():
            if time.monotonic() > deadline:
                raise self.busy()
            time.sleep(descriptor_locks.STEP_S)

    def wait(self) -> None:
        """Wait for the lock without a time limit, blocked in the system call.

        Raises:
            StoreFailed: The file cannot be made or locked.
        """
        try:
            descriptor_locks.wait(self._opened())
        except OSError as error:
            raise self._failed(error) from error

    def _opened(self) -> int:
        if self._descriptor is None:
            # Those who may write what it locks may lock it, and no others.
            self._descriptor = made_like(self.path, of=self._of)
        return self._descriptor

    def _failed(self, error: OSError) -> StoreFailed:
        """Return the error for a refused system call, with the path."""
        return StoreFailed(f"cannot lock {self.path}: {error}", path=str(self.path))

    def give_back(self) -> None:
        """Release the lock."""
        if self._descriptor is not None:
            descriptor_locks.give_back(self._descriptor)

    def close(self) -> None:
        """Close the file."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def busy(self) -> StoreBusy:
        """Return the error for a wait that timed out."""
        return StoreBusy(f"another writer has held {self.path} for too long", path=str(self.path))
