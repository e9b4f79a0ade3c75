"""Maps errors of SQLite to those of mnemic."""

from __future__ import annotations

import sqlite3
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType

from eventsourcing.persistence import ConnectionPoolClosedError, ConnectionUnavailableError

from mnemic.adapters.stores.sqlite.connections import Forked
from mnemic.adapters.system.forks import opened_before_fork
from mnemic.kernel.errors import (
    Closed,
    LogCorrupt,
    MnemicError,
    NotAStore,
    StoreBusy,
    StoreFailed,
    StoreFull,
)

PRIMARY = 0xFF
"""Mask from an extended result code to its primary one. Source: sqlite.org/rescode.html."""

_FAMILIES: dict[int, type[MnemicError]] = {
    sqlite3.SQLITE_BUSY: StoreBusy,
    sqlite3.SQLITE_LOCKED: StoreBusy,
    sqlite3.SQLITE_FULL: StoreFull,
    sqlite3.SQLITE_CORRUPT: LogCorrupt,
    sqlite3.SQLITE_NOTADB: NotAStore,
}
RECOVERIES = {
    sqlite3.SQLITE_READONLY: (
        "Make the file and its folder writable, or open the store with read_only=True."
    ),
    sqlite3.SQLITE_CANTOPEN: (
        "Check that the path names a file in a folder where files can be made."
    ),
    sqlite3.SQLITE_IOERR: (
        "Check the disk's health, free space, quota and file size limit, then try again."
    ),
}


class _Naming(AbstractContextManager[None]):
    """Context manager that converts what is raised about *path* to an error of ours.

    It is no generator, since every append passes through several. It keeps no state between uses,
    so any number of threads may use the same one.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        answer = None if error is None else _recorded(error, self._path)
        if answer is not None:
            raise answer from error


def named(path: Path) -> AbstractContextManager[None]:
    """Convert what SQLite, the connection pool and the system raise about *path* to our errors.

    The returned context manager can be reused.
    """
    return _Naming(path)


def _recorded(error: BaseException, path: Path) -> MnemicError | None:
    """Return *error* as one of ours; None if it is one already, or is unexpected."""
    match error:
        case OSError():
            return StoreFailed(f"{path}: {error.strerror or error}", path=str(path))
        case Forked():
            return opened_before_fork(f"the store {path}")
        case sqlite3.Error() | ConnectionPoolClosedError() | ConnectionUnavailableError():
            return fault(error, path)
        case UnicodeDecodeError():  # SQLite's message would quote the damaged text
            return LogCorrupt(f"{path}: database disk image is malformed", path=str(path))
        case _:
            return None


def fault(error: Exception, path: Path) -> MnemicError:
    """Return the error of mnemic that corresponds to *error*."""
    if isinstance(error, ConnectionPoolClosedError):
        return Closed(f"the store {path} is closed", path=str(path))
    if isinstance(error, ConnectionUnavailableError):
        return StoreBusy(f"{path}: {error}", path=str(path))
    code = family(error)
    if code == sqlite3.SQLITE_ERROR and str(error).startswith("no such"):  # one of our own tables
        code = sqlite3.SQLITE_CORRUPT
    return _FAMILIES.get(code, StoreFailed)(
        f"{path}: {error}", recovery=RECOVERIES.get(code), path=str(path)
    )


def family(error: Exception) -> int:
    """Return the primary result code of *error*; -1 if SQLite itself gave none."""
    code: int = getattr(error, "sqlite_errorcode", -1)
    return code & PRIMARY if code >= 0 else -1


def is_damage(error: sqlite3.Error) -> bool:
    """Return whether *error*, raised while rows were read, means that stored bytes are bad.

    An error without a result code comes from Python's own decoding of a column.
    """
    return family(error) in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, -1}
