"""The store that most people use: one SQLite file, many spaces, any number of processes."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from itertools import repeat
from operator import itemgetter
from pathlib import Path
from threading import Lock

from eventsourcing.persistence import ConnectionUnavailableError

from mnemic.adapters.stores import chain
from mnemic.adapters.stores.entry import drafted
from mnemic.adapters.stores.locking import WriterQueue
from mnemic.adapters.stores.sqlite import opening
from mnemic.adapters.stores.sqlite.connections import Synchronous
from mnemic.adapters.stores.sqlite.faults import named
from mnemic.kernel.errors import LogCorrupt, PointOutOfRange, ViewReadOnly
from mnemic.kernel.ports import CommandRow, Head, PayloadRow, Record

BATCH_VERSIONS = 512
"""Read at once. Between two batches a reader holds nothing, so it never blocks an erasure."""
SCRUB_PATIENCE_S = 0.5
"""How long an erasure waits for readers of the write-ahead log; later ones try without waiting."""

_version = itemgetter(Record._fields.index("version"))


class SQLiteStore:
    """Many spaces in one SQLite file, in WAL mode, for any number of threads and processes.

    Beside the file stand its ``-wal`` and ``-shm`` while it is open, and two small lock files,
    ``.gate`` and ``.lock``, that stay.

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
        self.read_only = read_only
        self.is_scrubbed = True
        """False while a reader elsewhere may keep erased bytes in the write-ahead log."""
        # One queue for all paths to the file, as SQLite has one write-ahead log for them.
        self._queue = WriterQueue(Path(os.path.realpath(self.path)))
        self._logs: dict[str, SQLiteLog] = {}
        self._opening = Lock()
        with named(self.path):
            if read_only:
                self.recorder = opening.to_read(self.path)
            else:
                self.recorder = opening.to_write(self.path, synchronous, self._queue)
                self.scrub()  # the last writer may have died over an erasure

    def spaces(self) -> tuple[str, ...]:
        """Return the names of all spaces, sorted."""
        with named(self.path):
            return self.recorder.names()

    def log(self, space: str, *, create: bool = True) -> SQLiteLog:
        """Return the log of *space*; twice the same.

        Raises:
            PointOutOfRange: If the space does not exist and may not be made.
        """
        with self._opening, named(self.path):
            if space not in self._logs:
                self._logs[space] = SQLiteLog(self, space, self._number(space, create=create))
            return self._logs[space]

    def writing(self) -> AbstractContextManager[None]:
        """Hold the right to append to this file. Not re-entrant."""
        self.require_writable()
        return self._queue.turn()

    def require_writable(self) -> None:
        """Refuse to write to a store opened with ``read_only``."""
        if self.read_only:
            raise ViewReadOnly(f"{self.path} is open to read only", path=str(self.path))

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

    def _number(self, space: str, *, create: bool) -> int:
        number = self.recorder.space(space)
        if number is None and create and not self.read_only:
            self.recorder.add_space(space)
            number = self.recorder.space(space)
        if number is None:
            raise PointOutOfRange(
                f"{self.path} has no space {space!r}",
                recovery="Name one of the store's spaces, or let it be made.",
                space=space,
            )
        return number


class SQLiteLog:
    """One space of a SQLite store."""

    def __init__(self, store: SQLiteStore, name: str, number: int) -> None:
        self._store = store
        self._recorder = store.recorder
        self._name = name
        self._number = number
        self._tip = chain.EMPTY
        """Where this handle last saw the log end."""

    @property
    def name(self) -> str:
        """The space's name."""
        return self._name

    def head(self) -> Head:
        """Return where the log ends now, other writers' events included."""
        with named(self._store.path):
            self._tip = self._recorder.head(self._number)
        return self._tip

    def read(
        self, after: int = -1, upto: int | None = None
    ) -> Iterator[tuple[Record, tuple[PayloadRow, ...]]]:
        """Yield records with version in (after, upto] in order, each with its payloads by slot.

        Records appended after the first one was asked for are not among them. An erasure takes
        effect at once, so a payload that is gone when its batch is read is not there.

        Raises:
            LogCorrupt: With the fact ``version``; every sound record before it has been yielded.
        """
        after = max(after, -1)
        try:
            head = self.head()
        except LogCorrupt as error:
            raise chain.damage(after + 1, reason="the head row cannot be read") from error
        end = head.version if upto is None else min(upto, head.version)
        if after < end:
            payloads: dict[int, list[PayloadRow]] = {}
            batches = self._batches(max(after, 0), min(end + 2, head.version), payloads)
            for records in chain.verified_together(batches, after=after, upto=end, head=head):
                parcels = map(payloads.pop, map(_version, records), repeat(()))
                yield from zip(records, map(tuple, parcels), strict=False)
        if upto is None or upto > head.version:
            with named(self._store.path):
                has_strays = self._recorder.has_strays(self._number)
            if has_strays:
                raise chain.damage(head.version + 1, reason="the head row ends before it")

    def digest_at(self, version: int) -> bytes | None:
        """Return the chain digest of the record at *version*, from its stored bytes."""
        with named(self._store.path):
            rows = self._recorder.records(self._number, version, version)
        return chain.digest_of(rows[0] if rows else None)

    def writing(self) -> AbstractContextManager[None]:
        """Hold the right to append, fairly among processes. Not re-entrant."""
        return self._store.writing()

    def append(
        self,
        records: Sequence[Record],
        payloads: Sequence[PayloadRow],
        *,
        command: CommandRow | None = None,
        erase: Sequence[str] = (),
        erase_all: bool = False,
    ) -> Head:
        """Write everything in one transaction, or nothing, and return the new head.

        Raises:
            VersionConflict: If another writer was first.
            CommandIdReused: If the command is remembered already.
            FieldRefused: If the records leave a gap or a payload has no record.
        """
        self._store.require_writable()
        before = self._tip
        if not records or records[0].version != before.version + 1:
            before = self.head()
        entry = drafted(
            str(self._number),
            before,
            records,
            payloads=payloads,
            command=command,
            erase=erase,
            erase_all=erase_all,
        )
        with named(self._store.path):
            self._recorder.insert_entry(self._number, entry)
        self._tip = entry.after
        if erase or erase_all:
            self._store.scrub(patience_s=SCRUB_PATIENCE_S)
        elif not self._store.is_scrubbed:
            self._store.scrub()
        return entry.after

    def command(self, command_id: str) -> CommandRow | None:
        """Return the remembered command with this id."""
        with named(self._store.path):
            return self._recorder.command(self._number, command_id)

    def close(self) -> None:
        """Do nothing: files and connections belong to the store."""

    def _batches(
        self, first: int, last: int, payloads: dict[int, list[PayloadRow]]
    ) -> Iterator[list[chain.Row]]:
        """Yield the stored rows in stretches; put their payloads into *payloads*, by version."""
        for start in range(first, last + 1, BATCH_VERSIONS):
            stop = min(start + BATCH_VERSIONS - 1, last)
            with named(self._store.path):
                rows, parcels = self._recorder.batch(self._number, start, stop)
            for parcel in parcels:
                payloads.setdefault(parcel.version, []).append(parcel)
            yield rows
            if not rows:
                return
