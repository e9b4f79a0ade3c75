"""The default store: one SQLite file, many spaces, any number of processes."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Generator, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

from attrs import evolve
from eventsourcing.persistence import ConnectionUnavailableError

from mnemic.adapters.stores.logs.append import Entry
from mnemic.adapters.stores.logs.recorded_log import RecordBatch, RecordedLog
from mnemic.adapters.stores.logs.recorded_store import RecordedStore
from mnemic.adapters.stores.logs.write_lock import WriteLock, drop_older
from mnemic.adapters.stores.sqlite import opening
from mnemic.adapters.stores.sqlite.connections import Synchronous
from mnemic.adapters.stores.sqlite.faults import named
from mnemic.adapters.stores.sqlite.lost_tail import LossCheck, LostTail
from mnemic.adapters.stores.sqlite.name_lock import check_single
from mnemic.adapters.stores.sqlite.watermark import INODE_MAX, Origin, Watermarks
from mnemic.adapters.system.paths import checked_path
from mnemic.kernel.errors import HistoryReplaced, MnemicError, NotAStore, StoreFailed
from mnemic.kernel.ports import Head, LogCapabilities

SCRUB_PATIENCE_S = 0.5
"""How long an erasure waits for readers of the write-ahead log; retries do not wait."""


class SQLiteStore(RecordedStore["SQLiteLog"]):
    """Many spaces in one SQLite file, in WAL mode, for any number of threads and processes.

    Next to the file are its ``-wal`` and ``-shm`` while it is open, and a small one that stays:
    ``.heads`` is the write lock and says how far each log was acknowledged.

    Args:
        path: The file; it is made if it does not exist, its folder is not.
        synchronous: ``full`` keeps every acknowledged append through a power cut, ``normal``
            through a killed process only.
        read_only: Never write. A file or folder that cannot be written can be read as long as
            the last writer closed it; then the file must not change while it is open.

    Raises:
        FieldRefused: If no file could have the path.
        NotAStore: If the file was made by another program.
        StoreTooNew: If a later release of mnemic made it.
        StoreMissing: If the file is gone, and what belongs to it is left.
        StoreHasTwoNames: If the file has several links, or is open under another name.
        StoreBusy: If another process keeps the file locked for too long.
        StoreFailed: If the path cannot be opened.
    """

    def __init__(
        self, path: str | Path, *, synchronous: Synchronous = "full", read_only: bool = False
    ) -> None:
        self.path = checked_path(path)
        """The path as given; errors quote it."""
        self._place = self.path.absolute()  # the process may change its working directory
        if not self._place.name:
            raise NotAStore(f"{path} is a folder", path=str(path))
        self.is_scrubbed = True
        """False while a reader elsewhere may keep erased bytes in the write-ahead log."""
        # One lock file for all links to the file, as SQLite has one write-ahead log for them.
        file = Path(os.path.realpath(self._place))
        self._queue = WriteLock(file)
        self.heads = Watermarks(file, synchronous=synchronous, read_only=read_only)
        self.naming = named(self.path)
        """Converts what is raised about the file to an error of ours."""
        with self.naming:
            if read_only:
                self.recorder = opening.to_read(self._place, self.heads)
            else:
                self.recorder = opening.to_write(self._place, synchronous, self._queue)
                drop_older(file)
                self.scrub()  # the last writer may have died during an erasure
            self._file = self.recorder.datastore.inode or _identity(self._place)
        self._stat_path = os.fspath(self._place)
        self.loss_check = LossCheck(
            path=self.path,
            inode=self.inode,
            recorder=self.recorder,
            heads=self.heads,
            naming=self.naming,
        )
        """Finds what the file lacks of what was acknowledged."""
        super().__init__(self.recorder, shown=str(self.path), read_only=read_only)

    @contextmanager
    def draft(self, space: str) -> Generator[SQLiteLog]:
        """Open the log of a space that stays hidden until the ``with`` block has succeeded.

        Raises:
            SpaceExists: The space has events, or was made meanwhile.
            VersionConflict: Another process has begun to make it since.
            LogCorrupt: The file has lost whole spaces, and this may be one of them.
        """
        self.check_spaces()
        with super().draft(space) as log:
            yield log
        log.settle()

    def write_lock(self) -> AbstractContextManager[None]:
        """Hold the write lock of this file. Not re-entrant."""
        self.require_writable()
        return self._queue.write_lock()

    def check_place(self) -> None:
        """Refuse to use a file that could not be found again.

        Where files can be removed while they are open, SQLite goes on reading and writing a removed
        one without an error. This check before each look at a log's end, and before and after each
        append, costs a microsecond or two.

        Raises:
            StoreFailed: The file is gone, or the path names another file.
            StoreHasTwoNames: It was given another name since.
        """
        with self.naming:
            status = os.stat(self._stat_path)  # noqa: PTH116 - before every append, and quicker
            if (status.st_dev, status.st_ino) != self._file:
                raise StoreFailed(
                    f"{self.path} is not the file that was opened: it has been replaced",
                    recovery="Open the store again, and repeat the command under its command id: "
                    "what the file that is there now does not have is decided anew.",
                    path=str(self.path),
                )
            check_single(status.st_nlink, self.path)

    @property
    def inode(self) -> int:
        """Inode of the file that was opened."""
        return self._file[1] & INODE_MAX

    def check_spaces(self) -> None:
        """Refuse a file that has lost whole spaces.

        Raises:
            LogCorrupt: Events of theirs were acknowledged.
        """
        lost = self.loss_check.of_spaces()
        if lost is not None:
            raise lost

    def scrub(self, *, patience_s: float = 0.0) -> None:
        """Try to leave no erased byte in the write-ahead log; see ``is_scrubbed``."""
        self.is_scrubbed = False
        # The erasure is committed: what fails here is tried again with the next append.
        with suppress(sqlite3.Error, ConnectionUnavailableError):
            self.is_scrubbed = self.recorder.scrub(patience_s=patience_s)

    def close(self) -> None:
        """Close every connection and the lock file. Closing twice is fine."""
        if self._process.is_another:
            return
        if not (self.read_only or self.recorder.datastore.pool.closed):
            self.scrub()  # SQLite would leave the last commits of a file that was moved behind
        self.recorder.datastore.close()
        self._queue.close()
        self.heads.close()

    def _named(self) -> AbstractContextManager[None]:
        return self.naming

    def _tidy(self) -> None:
        self.scrub()

    def _log(self, space: str, number: int) -> SQLiteLog:
        return SQLiteLog(self, space, number)

    def _staged(self, space: str, number: int) -> SQLiteLog:
        return SQLiteLog(self, space, number, is_staged=True)

    def _found(self, space: str) -> int | None:
        number = self.recorder.space(space, salvaging=self.read_only)
        if number is None:
            self.check_spaces()  # it may be one of those lost; and no new one may take their number
        return number


def _identity(path: Path) -> tuple[int, int]:
    """Return device and inode, which identify a file under all its names."""
    status = path.stat()
    return status.st_dev, status.st_ino


class SQLiteLog(RecordedLog):
    """One space of a SQLite store.

    Args:
        store: The store.
        name: The space's name.
        number: Its number in the tables.
        is_draft: Whether it is staged, and nothing of it is acknowledged yet.
    """

    batch_versions = 512

    def __init__(
        self, store: SQLiteStore, name: str, number: int, *, is_staged: bool = False
    ) -> None:
        super().__init__(store.recorder, name, number)
        self._store = store
        self._is_staged = is_staged
        self._origin: Origin | None = None
        """What identifies the log in its slot, once it has a first event."""
        self._is_checked = False
        """Whether it was compared with its slot: once is enough, later losses show in its head."""

    def write_lock(self) -> AbstractContextManager[None]:
        """Hold the write lock, fairly among processes. Not re-entrant."""
        return self._store.write_lock()

    def head(self) -> Head:
        """Return where the log ends now, other writers' events included.

        Raises:
            StoreFailed: The file is gone, or its path names another file.
        """
        self._store.check_place()
        return super().head()

    def _record_batches(self, after: Head | int, upto: Head | int | None) -> Iterator[RecordBatch]:
        """Yield records as every log does, then check that none is missing at the end.

        Raises:
            HistoryReplaced: The log does not hold a head that was given.
            LogCorrupt: With the fact ``version``, where events are damaged or missing.
        """
        end = upto.version if isinstance(upto, Head) else upto
        is_known = end is not None and end <= self._tip.version
        lost = None if is_known else self.lost_tail()
        try:
            yield from super()._record_batches(after, upto)
        except HistoryReplaced:
            self._origin = None  # perhaps it begins with another event, too
            raise
        if lost is not None and (end is None or end > lost.end):
            raise lost.error

    def lost_tail(self) -> LostTail | None:
        """Return what the log lacks of what was acknowledged; None: nothing that is known of.

        A log whose head row cannot be read has another kind of damage.
        """
        return self._store.loss_check.of_log(self, self._number)

    @property
    def capabilities(self) -> LogCapabilities:
        """What this log can do beyond the port."""
        return evolve(super().capabilities, check=self.check)

    def check(self) -> None:
        """Check what the chain does not cover: which spaces exist, and which commands.

        Raises:
            LogCorrupt: It is not what was written.
        """
        with self._named():
            self._store.recorder.check()
        self._store.check_spaces()

    def settle(self) -> None:
        """Record how far a staged log goes, unless another process has appended since."""
        if self._store.heads.of(self._number) is None:
            self._acknowledge()

    def _acknowledge(self) -> None:
        """Record how far the log goes now, all of it committed.

        A failure here does not fail the append.
        """
        if self._origin is None:
            with suppress(MnemicError):
                self._origin = self._looked_up()
        if self._origin is not None and self._tip.version >= 0:
            self._store.heads.note(self._number, self._tip, self._origin)

    def _looked_up(self) -> Origin | None:
        """Return what identifies this log; None: it has no event that can be read."""
        genesis = self.digest_at(0)
        if genesis is None:
            return None
        known = self._store.heads.of(self._number)
        if known is not None and known.origin.genesis != genesis:
            self._store.heads.forget()  # all slots are of another store that had this name
        return Origin(genesis=genesis, inode=self._store.inode)

    def _named(self) -> AbstractContextManager[None]:
        return self._store.naming

    def _require_writable(self) -> None:
        self._store.require_writable()
        self._store.check_place()
        if not self._is_checked:
            lost = self.lost_tail()
            if lost is not None:
                raise lost.error
            self._is_checked = True

    def _appended(self, entry: Entry) -> None:
        self._store.check_place()  # what was committed to a file that is gone is not acknowledged
        if not self._is_staged:
            self._acknowledge()
        if entry.erase or entry.erase_all:
            self._store.scrub(patience_s=SCRUB_PATIENCE_S)
        elif not self._store.is_scrubbed:
            self._store.scrub()
