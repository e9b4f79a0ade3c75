"""The store that most people use: one SQLite file, many spaces, any number of processes."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Generator, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

from eventsourcing.persistence import ConnectionUnavailableError

from mnemic.adapters.stores.entry import Entry
from mnemic.adapters.stores.locking import WriterQueue
from mnemic.adapters.stores.recorded import RecordedLog
from mnemic.adapters.stores.recorded_store import RecordedStore
from mnemic.adapters.stores.sqlite import opening, shortfalls
from mnemic.adapters.stores.sqlite.connections import Synchronous
from mnemic.adapters.stores.sqlite.faults import named
from mnemic.adapters.stores.sqlite.heads import INODE_MAX, Heads, Origin
from mnemic.adapters.stores.sqlite.shortfalls import Shortfall
from mnemic.kernel.errors import MnemicError, StoreFailed
from mnemic.kernel.ports import PayloadRow, Record

SCRUB_PATIENCE_S = 0.5
"""How long an erasure waits for readers of the write-ahead log; later ones try without waiting."""


class SQLiteStore(RecordedStore["SQLiteLog"]):
    """Many spaces in one SQLite file, in WAL mode, for any number of threads and processes.

    Beside the file stand its ``-wal`` and ``-shm`` while it is open, and three small files that
    stay: ``.gate`` and ``.lock`` are locks, ``.heads`` says how far each log was acknowledged.

    Args:
        path: The file; it is made if it does not exist, its folder is not.
        synchronous: ``full`` keeps every acknowledged append through a power cut, ``normal``
            through a killed process only.
        read_only: Never write. A file or folder that cannot be written can be read as long as
            the last writer closed it; then the file must not change while it is open.

    Raises:
        NotAStore: If the file was made by another program.
        StoreTooNew: If a later release of mnemic made it.
        StoreFailed: If the path cannot be opened.
    """

    def __init__(
        self, path: str | Path, *, synchronous: Synchronous = "full", read_only: bool = False
    ) -> None:
        self.path = Path(path)
        """As it was given; errors say it so."""
        self._place = self.path.absolute()  # wherever the process goes next
        self.is_scrubbed = True
        """False while a reader elsewhere may keep erased bytes in the write-ahead log."""
        # One queue for all paths to the file, as SQLite has one write-ahead log for them.
        file = Path(os.path.realpath(self._place))
        self._queue = WriterQueue(file)
        self.heads = Heads(file, synchronous=synchronous, read_only=read_only)
        self.naming = named(self.path)
        """Where what is raised about the file becomes an error of ours."""
        with self.naming:
            if read_only:
                self.recorder = opening.to_read(self._place, self.heads)
            else:
                self.recorder = opening.to_write(self._place, synchronous, self._queue)
                self.scrub()  # the last writer may have died over an erasure
            self._file = _identity(self._place)
        super().__init__(self.recorder, shown=str(self.path), read_only=read_only)

    @contextmanager
    def draft(self, space: str) -> Generator[SQLiteLog]:
        """Give the log of a space that nobody sees before the ``with`` block has ended well.

        Raises:
            SpaceExists: The space has events, or was made meanwhile.
            VersionConflict: Somebody else has begun to make it since.
            LogCorrupt: The file has lost whole spaces, and this may be one of them.
        """
        self.check_spaces()
        with super().draft(space) as log:
            yield log
        log.settle()

    def writing(self) -> AbstractContextManager[None]:
        """Hold the right to append to this file. Not re-entrant."""
        self.require_writable()
        return self._queue.turn()

    def writing_if_free(self) -> AbstractContextManager[bool]:
        """Hold the right to append to this file if nobody has it or waits for it."""
        self.require_writable()
        return self._queue.turn_if_free()

    def check_place(self) -> None:
        """Refuse to write to a file that nobody could find again.

        Where files can be removed while they are open, SQLite goes on writing to one that is gone,
        and says that all is well. A look before each append costs a microsecond or two.

        Raises:
            StoreFailed: The file is gone, or another one has taken its place.
        """
        with self.naming:
            if _identity(self._place) != self._file:
                raise StoreFailed(
                    f"{self.path} is not the file that was opened: it has been replaced",
                    recovery="Open the store again; nothing is written to the file that was there.",
                    path=str(self.path),
                )

    @property
    def inode(self) -> int:
        """The number by which the file system knows the file that was opened."""
        return self._file[1] & INODE_MAX

    def check_spaces(self) -> None:
        """Refuse a file that has lost whole spaces.

        Raises:
            LogCorrupt: Events of theirs were acknowledged.
        """
        with self.naming:
            lost = shortfalls.of_spaces(self)
        if lost is not None:
            raise lost

    def scrub(self, *, patience_s: float = 0.0) -> None:
        """Try to leave no erased byte in the write-ahead log; ``is_scrubbed`` says how it went."""
        self.is_scrubbed = False
        # The erasure is committed: what fails here is tried again with the next append.
        with suppress(sqlite3.Error, ConnectionUnavailableError):
            self.is_scrubbed = self.recorder.scrub(patience_s=patience_s)

    def close(self) -> None:
        """Close every connection and the lock file. Closing twice is fine."""
        if not self.is_scrubbed and not self.recorder.datastore.pool.closed:
            self.scrub()
        self.recorder.datastore.close()
        self._queue.close()
        self.heads.close()

    def _named(self) -> AbstractContextManager[None]:
        return self.naming

    def _tidy(self) -> None:
        self.scrub()

    def _log(self, space: str, number: int) -> SQLiteLog:
        return SQLiteLog(self, space, number)

    def _draft(self, space: str, number: int) -> SQLiteLog:
        return SQLiteLog(self, space, number, is_draft=True)

    def _found(self, space: str) -> int | None:
        number = self.recorder.space(space, salvaging=self.read_only)
        if number is None:
            self.check_spaces()  # it may be one of those; and no new one takes their number
        return number


def _identity(path: Path) -> tuple[int, int]:
    """Return what tells a file from all others, whatever they are called."""
    status = os.stat(path)  # noqa: PTH116 - asked before every append, and quicker
    return status.st_dev, status.st_ino


class SQLiteLog(RecordedLog):
    """One space of a SQLite store.

    Args:
        store: Which.
        name: The space's name.
        number: Its number in the tables.
        is_draft: Whether it is in the making, and nothing of it is acknowledged yet.
    """

    batch_versions = 512

    def __init__(
        self, store: SQLiteStore, name: str, number: int, *, is_draft: bool = False
    ) -> None:
        super().__init__(store.recorder, name, number)
        self._store = store
        self._is_draft = is_draft
        self._origin: Origin | None = None
        """What its slot has to say of it, once it has a first event."""
        self._is_checked = False
        """Whether it was held against its slot: nobody can make it shorter while it is open."""

    def writing(self) -> AbstractContextManager[None]:
        """Hold the right to append, fairly among processes. Not re-entrant."""
        return self._store.writing()

    def read(
        self, after: int = -1, upto: int | None = None
    ) -> Iterator[tuple[Record, tuple[PayloadRow, ...]]]:
        """Yield records as every log does, and then miss those that should be behind them.

        Raises:
            LogCorrupt: With the fact ``version``, where events are damaged or missing.
        """
        is_known = upto is not None and upto <= self._tip.version
        lost = None if is_known else self.shortfall()
        yield from super().read(after, upto)
        if lost is not None and (upto is None or upto > lost.end):
            raise lost.error

    def shortfall(self) -> Shortfall | None:
        """Return what the log lacks of what was acknowledged; None: nothing that is known of.

        A log whose head row cannot be read is damaged otherwise.
        """
        return shortfalls.of_log(self._store, self, self._number)

    def writing_if_free(self) -> AbstractContextManager[bool]:
        """Hold the right to append if nobody has it or waits for it. Not re-entrant."""
        return self._store.writing_if_free()

    def check(self) -> None:
        """Check what the chain does not cover: which spaces there are, and which commands.

        Raises:
            LogCorrupt: It is not what was written.
        """
        with self._named():
            self._store.recorder.check()
        self._store.check_spaces()

    def settle(self) -> None:
        """Note down how far a log goes that was in the making, unless somebody went on since."""
        if self._store.heads.of(self._number) is None:
            self._acknowledge()

    def _acknowledge(self) -> None:
        """Note down how far the log goes now: what stands there is committed.

        Nothing that fails here is worth an append.
        """
        if self._origin is None:
            with suppress(MnemicError):
                self._origin = self._looked_up()
        if self._origin is not None and self._tip.version >= 0:
            self._store.heads.note(self._number, self._tip, self._origin)

    def _looked_up(self) -> Origin | None:
        """Return what tells this log from others; None: it has no event that can be read."""
        genesis = self.digest_at(0)
        if genesis is None:
            return None
        known = self._store.heads.of(self._number)
        if known is not None and known.origin.genesis != genesis:
            self._store.heads.forget()  # all of it is of another store that had this name
        return Origin(genesis=genesis, inode=self._store.inode)

    def _named(self) -> AbstractContextManager[None]:
        return self._store.naming

    def _require_writable(self) -> None:
        self._store.require_writable()
        self._store.check_place()
        if not self._is_checked:
            lost = self.shortfall()
            if lost is not None:
                raise lost.error
            self._is_checked = True

    def _appended(self, entry: Entry) -> None:
        if not self._is_draft:
            self._acknowledge()
        if entry.erase or entry.erase_all:
            self._store.scrub(patience_s=SCRUB_PATIENCE_S)
        elif not self._store.is_scrubbed:
            self._store.scrub()
