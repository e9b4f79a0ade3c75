"""Key file: access to the database of keys, which is separate from every store.

Rules of this module:

1. Only the owner may have access to the file; otherwise it is refused.
2. Nothing is written once another file, or none, is at the path: the keys could not be found again.
3. A destroyed key is overwritten in every file that held it: in place, and in the write-ahead log.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import tempfile
from collections.abc import Generator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from threading import Lock

from mnemic.adapters.files import atomic_files
from mnemic.adapters.stores.encrypted.format import STATEMENTS, check_format, not_a_key_file
from mnemic.adapters.stores.sqlite.connections import BUSY_TIMEOUT_S, Datastore, Mode
from mnemic.adapters.stores.sqlite.faults import family, fault, is_damage, named
from mnemic.adapters.system.paths import checked_path
from mnemic.kernel.errors import LogCorrupt, MnemicError, NotAStore, StoreFailed, ViewReadOnly

OTHERS = 0o077
"""Permission bits of the group and of all other users."""
SCRUB_PATIENCE_S = 2.0
"""How long an erasure waits for readers of the write-ahead log, which mostly take milliseconds."""


class KeyFile:
    """A key file, shared by any number of threads and processes.

    Args:
        path: The file. It is created by the first write, readable by its owner only.
        read_only: Whether writing is refused.

    Raises:
        StoreFailed: Other users have access to the file, or it is damaged or cannot be opened.
        FieldRefused: The path is not a valid one.
        NotAStore: It is not a key file.
        StoreTooNew: A later release made it.
    """

    def __init__(self, path: str | Path, *, read_only: bool = False) -> None:
        self.path = Path(os.path.realpath(checked_path(path, "keys")))
        self.read_only = read_only
        self._data: Datastore | None = None
        self._identity: tuple[int, int] | None = None
        self._unwatched_status: tuple[int, ...] | None = None
        """File status at opening, if SQLite cannot notice writes of other processes; else None."""
        self._is_scrubbed = True
        self._opening = Lock()
        if atomic_files.stands(self.path):
            self._open()
            self.scrub()  # the last process may have died during an erasure

    def copy(self, to: Path) -> None:
        """Copy everything to a new file that only its owner may read; others may write meanwhile.

        Args:
            to: The path of the copy.

        Raises:
            FieldRefused: A file exists there.
            StoreFull, StoreFailed: It cannot be written.
        """
        atomic_files.checked_new(to)
        with (
            self._named(),
            atomic_files.appearing(to) as (out,),
            closing(sqlite3.connect(":memory:")) as copied,
            closing(sqlite3.connect(f"{self.path.as_uri()}?mode=ro", uri=True)) as source,
        ):
            source.backup(copied)
            out.write(copied.serialize())

    def scrub(self) -> None:
        """Empty the write-ahead log; if readers use it, ``left`` names it afterwards."""
        if self._data is None or self.read_only:
            return
        self._is_scrubbed = False
        with (
            suppress(sqlite3.Error, MnemicError),
            self._named(),
            self._data.get_connection(commit=True) as lent,
        ):
            cursor = lent.cursor()
            cursor.execute(f"PRAGMA busy_timeout = {round(SCRUB_PATIENCE_S * 1000)}")
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            self._is_scrubbed = not cursor.fetchone()[0]
            cursor.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_S * 1000}")

    @property
    def left(self) -> tuple[str, ...]:
        """The names of files that may hold a destroyed key, because readers use them."""
        return () if self._is_scrubbed else (f"{self.path.name}-wal",)

    def close(self) -> None:
        """Close every connection. A second call does nothing."""
        if self._data is not None:
            if not self._is_scrubbed and not self._data.pool.closed:
                self.scrub()
            self._data.close()

    # --- opening ---------------------------------------------------------------------------------

    def _open(self) -> None:
        with self._opening, self._named():
            if self._data is not None:
                return  # another thread has opened it
            self._check_private()
            self._identity = _identity(self.path)
            try:
                self._data = self._connected("ro" if self.read_only else "rw")
            except sqlite3.OperationalError:
                if not self.read_only or self.path.with_name(f"{self.path.name}-wal").exists():
                    raise
                self._unwatched_status = self._file_status()
                self._data = self._connected("ro&immutable=1")

    def _reopen_if_changed(self) -> None:
        """Reopen the file if it has changed, where SQLite cannot notice that.

        In a folder where this process may not create files, the database is opened as immutable
        unless a writer has it open.
        """
        if (
            self._data is None
            or self._unwatched_status is None
            or self._unwatched_status == self._file_status()
        ):
            return
        seen, self._data, self._unwatched_status = self._data, None, None
        seen.close()
        self._open()

    def _file_status(self) -> tuple[int, ...]:
        """Return what differs once the file has been written or replaced."""
        status = self.path.stat()
        is_written = self.path.with_name(f"{self.path.name}-wal").exists()
        return *_identity(self.path), status.st_size, status.st_mtime_ns, is_written

    def _connected(self, mode: Mode) -> Datastore:
        data = Datastore(self.path, mode=mode, synchronous="full")
        try:
            with data.reading() as c:
                check_format(c, self.path)
        except BaseException:
            data.close()
            raise
        return data

    def _check_private(self) -> None:
        if not self.path.is_file():
            raise NotAStore(f"{self.path} is not a file", path=str(self.path))
        mode = stat.S_IMODE(self.path.stat().st_mode)
        if os.name == "posix" and mode & OTHERS:
            raise StoreFailed(
                f"{self.path} holds keys, and other users have access to it (mode {mode:04o})",
                recovery=f"Run `chmod 600 {self.path}`. A user who has read it can decrypt every "
                "copy of the texts.",
                path=str(self.path),
            )

    def _check_in_place(self) -> None:
        """Refuse to write keys that could not be found again, or to use those of another file.

        Raises:
            StoreFailed: At the path is another file than the one that was opened, or none.
        """
        try:
            found = _identity(self.path)
        except FileNotFoundError:
            found = None
        if found != self._identity:
            raise StoreFailed(
                f"{self.path} was moved, removed or replaced since it was opened",
                recovery="Put it back, or restart this process to use the file that is there now. "
                "Nothing was written.",
                path=str(self.path),
            )

    def _make(self) -> None:
        """Create the file atomically, readable by its owner only."""
        if not self.path.parent.is_dir():
            raise StoreFailed(
                f"the folder {self.path.parent} does not exist",
                recovery=f"Make the folder {self.path.parent}, or name another path.",
                path=str(self.path),
            )
        with atomic_files.named(self.path):
            made = tempfile.TemporaryDirectory(prefix=f".{self.path.name}.", dir=self.path.parent)
        with made as folder:
            draft = Path(folder) / self.path.name
            with atomic_files.named(draft):
                draft.touch(mode=0o600)
            with closing(sqlite3.connect(draft, isolation_level=None)) as connection:
                for statement in STATEMENTS:
                    connection.execute(statement)
            with atomic_files.named(self.path), suppress(FileExistsError):  # another process has it
                atomic_files.settle(draft, self.path)

    # --- access -----------------------------------------------------------------------------------

    @contextmanager
    def _reading(self) -> Generator[sqlite3.Cursor]:
        if self._data is None and atomic_files.stands(self.path):
            self._open()  # another process has created it
        if self._data is None:
            with closing(sqlite3.connect(":memory:", isolation_level=None)) as nothing:
                for statement in STATEMENTS[1:]:
                    nothing.execute(statement)
                yield nothing.cursor()
            return
        with self._named():
            self._check_in_place()
            self._reopen_if_changed()
            with self._data.reading() as c:
                yield c

    @contextmanager
    def _writing(self) -> Generator[sqlite3.Cursor]:
        if self.read_only:
            raise ViewReadOnly(f"{self.path} is open read-only", path=str(self.path))
        with self._named():
            if self._data is None:
                if not atomic_files.stands(self.path):
                    self._make()
                self._open()
            assert self._data is not None  # noqa: S101 - it is open now
            self._check_in_place()
            with self._data.transaction(commit=True) as c:
                c.sqlite_cursor.row_factory = None
                yield c.sqlite_cursor

    @contextmanager
    def _named(self) -> Generator[None]:
        with named(self.path), self._sound():
            yield

    @contextmanager
    def _sound(self) -> Generator[None]:
        """Raise errors of SQLite as errors about this file, not about a store."""
        try:
            yield
        except sqlite3.Error as error:
            if family(error) == sqlite3.SQLITE_NOTADB:
                raise not_a_key_file(self.path) from error
            found = fault(error, self.path)
            if is_damage(error) or isinstance(found, LogCorrupt):  # no log is damaged
                raise self._damaged(str(error)) from error
            raise found from error
        except (TypeError, ValueError) as error:  # a column holds a value of another type
            raise self._damaged(str(error)) from error

    def _damaged(self, detail: str) -> StoreFailed:
        return StoreFailed(
            f"the key file {self.path} is damaged: {detail}",
            recovery="Replace it with your copy, remove the files next to it that end in -wal and "
            f"-shm ({self.path.name}-wal), and erase again what was erased since.",
            path=str(self.path),
        )


def _identity(path: Path) -> tuple[int, int]:
    status = os.stat(path)  # noqa: PTH116 - for every operation; twice as fast
    return status.st_dev, status.st_ino
