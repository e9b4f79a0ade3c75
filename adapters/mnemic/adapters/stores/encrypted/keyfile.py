"""File of keys, apart from every store: private, complete, without traces of destroyed keys.

Rules of this module:

1. Only the owner may read the file; otherwise it is refused.
2. Nothing is written once the path names another file, or none: the keys could not be found again.
3. What is overwritten is gone from every file that held it: in place, and in the write-ahead log.
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
from mnemic.adapters.stores.encrypted.format import STATEMENTS, check_format, not_ours
from mnemic.adapters.stores.sqlite.connections import BUSY_TIMEOUT_S, Datastore, Mode
from mnemic.adapters.stores.sqlite.faults import family, fault, is_damage, named
from mnemic.adapters.system.paths import checked_path
from mnemic.kernel.errors import LogCorrupt, MnemicError, NotAStore, StoreFailed, ViewReadOnly

OTHERS = 0o077
"""Permission bits of everyone but the owner."""
SCRUB_PATIENCE_S = 2.0
"""How long an erasure waits for readers of the write-ahead log, which take milliseconds."""


class KeyFile:
    """A file of keys, for any number of threads and processes.

    Args:
        path: The file. It is made when first written to, readable by its owner only.
        read_only: Never write.

    Raises:
        StoreFailed: Others may read the file, or it is damaged, or cannot be opened.
        FieldRefused: No file could have the path.
        NotAStore: It is something else.
        StoreTooNew: A later release made it.
    """

    def __init__(self, path: str | Path, *, read_only: bool = False) -> None:
        self.path = Path(os.path.realpath(checked_path(path, "keys")))
        self.read_only = read_only
        self._data: Datastore | None = None
        self._identity: tuple[int, int] | None = None
        self._unwatched: tuple[int, ...] | None = None
        """File status at opening, where SQLite cannot see the writes of others."""
        self._is_scrubbed = True
        self._opening = Lock()
        if atomic_files.stands(self.path):
            self._open()
            self.scrub()  # the last process may have died during an erasure

    def copy(self, to: Path) -> None:
        """Copy everything to a new file that only its owner may read, also while others write.

        Raises:
            FieldRefused: There is such a file.
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
        """Try to leave no destroyed key in the write-ahead log; ``left`` reports the outcome."""
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
        """The names of files that may hold a destroyed key because a reader still uses them."""
        return () if self._is_scrubbed else (f"{self.path.name}-wal",)

    def close(self) -> None:
        """Close every connection. Closing twice is fine."""
        if self._data is not None:
            if not self._is_scrubbed and not self._data.pool.closed:
                self.scrub()
            self._data.close()

    # --- opening ---------------------------------------------------------------------------------

    def _open(self) -> None:
        with self._opening, self._named():
            if self._data is not None:
                return  # another thread was faster
            self._check_private()
            self._identity = _identity(self.path)
            try:
                self._data = self._connected("ro" if self.read_only else "rw")
            except sqlite3.OperationalError:
                if not self.read_only or self.path.with_name(f"{self.path.name}-wal").exists():
                    raise
                self._unwatched = self._looks()
                self._data = self._connected("ro&immutable=1")

    def _watch(self) -> None:
        """Reopen the file if others wrote it where SQLite cannot see that.

        That is so in a folder where this process may make no file, for as long as nobody writes.
        """
        if self._data is None or self._unwatched is None or self._unwatched == self._looks():
            return
        seen, self._data, self._unwatched = self._data, None, None
        seen.close()
        self._open()

    def _looks(self) -> tuple[int, ...]:
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
            raise NotAStore(f"{self.path} is no file", path=str(self.path))
        mode = stat.S_IMODE(self.path.stat().st_mode)
        if os.name == "posix" and mode & OTHERS:
            raise StoreFailed(
                f"{self.path} holds keys, and is open to others (mode {mode:04o})",
                recovery=f"Run `chmod 600 {self.path}`. A user who has read it can decrypt every "
                "copy of the texts.",
                path=str(self.path),
            )

    def _check_in_place(self) -> None:
        """Refuse to write keys that could not be found again, or to use those of another file.

        Raises:
            StoreFailed: The path names another file than the one opened, or none.
        """
        try:
            found = _identity(self.path)
        except FileNotFoundError:
            found = None
        if found != self._identity:
            raise StoreFailed(
                f"{self.path} was moved, removed or replaced since it was opened",
                recovery="Put it back, or close this process and begin anew with the file that is "
                "there. Nothing was written.",
                path=str(self.path),
            )

    def _make(self) -> None:
        """Make the file atomically."""
        if not self.path.parent.is_dir():
            raise StoreFailed(
                f"there is no folder {self.path.parent}",
                recovery=f"Make the folder {self.path.parent}, or name another path.",
                path=str(self.path),
            )
        with atomic_files.named(self.path):
            made = tempfile.TemporaryDirectory(prefix=f".{self.path.name}.", dir=self.path.parent)
        with made as folder:
            aside = Path(folder) / self.path.name
            with atomic_files.named(aside):
                aside.touch(mode=0o600)
            with closing(sqlite3.connect(aside, isolation_level=None)) as connection:
                for statement in STATEMENTS:
                    connection.execute(statement)
            with atomic_files.named(self.path), suppress(FileExistsError):  # another one was faster
                atomic_files.settle(aside, self.path)

    # --- within -----------------------------------------------------------------------------------

    @contextmanager
    def _reading(self) -> Generator[sqlite3.Cursor]:
        if self._data is None and atomic_files.stands(self.path):
            self._open()  # another process has made it
        if self._data is None:
            with closing(sqlite3.connect(":memory:", isolation_level=None)) as nothing:
                for statement in STATEMENTS[1:]:
                    nothing.execute(statement)
                yield nothing.cursor()
            return
        with self._named():
            self._check_in_place()
            self._watch()
            with self._data.reading() as c:
                yield c

    @contextmanager
    def _writing(self) -> Generator[sqlite3.Cursor]:
        if self.read_only:
            raise ViewReadOnly(f"{self.path} is open to read only", path=str(self.path))
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
        """Distinguish damage of this file from that of a store."""
        try:
            yield
        except sqlite3.Error as error:
            if family(error) == sqlite3.SQLITE_NOTADB:
                raise not_ours(self.path) from error
            found = fault(error, self.path)
            if is_damage(error) or isinstance(found, LogCorrupt):  # the store itself is sound
                raise self._damaged(str(error)) from error
            raise found from error
        except (TypeError, ValueError) as error:  # a column that holds something else
            raise self._damaged(str(error)) from error

    def _damaged(self, detail: str) -> StoreFailed:
        return StoreFailed(
            f"{self.path} is no sound file of keys: {detail}",
            recovery="Replace it with your copy, remove the files next to it that end in -wal and "
            f"-shm ({self.path.name}-wal), and erase again what was erased since.",
            path=str(self.path),
        )


def _identity(path: Path) -> tuple[int, int]:
    status = os.stat(path)  # noqa: PTH116 - asked with every operation, and so twice as fast
    return status.st_dev, status.st_ino
