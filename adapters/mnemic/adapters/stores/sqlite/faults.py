"""What SQLite says went wrong, as the errors of mnemic."""

from __future__ import annotations

import sqlite3
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType

from eventsourcing.persistence import ConnectionPoolClosedError, ConnectionUnavailableError

from mnemic.adapters.stores.sqlite.connections import Forked
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
"""Mask that takes an extended result code to its family. Source: sqlite.org/rescode.html."""

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
    """Where whatever is raised about *path* becomes an error of ours.

    It is no generator, since every append passes several, and takes nothing of one entry to the
    next, so any number of threads may stand in the same one.
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
        told = None if error is None else _told(error, self._path)
        if told is not None:
            raise told from error


def named(path: Path) -> AbstractContextManager[None]:
    """Turn what SQLite, the connection pool and the system raise about *path* into our errors.

    What is returned may be kept, and entered again and again.
    """
    return _Naming(path)


def _told(error: BaseException, path: Path) -> MnemicError | None:
    """Return *error* as one of ours; None if it is one, or none that anybody here expects."""
    match error:
        case OSError():
            return StoreFailed(f"{path}: {error.strerror or error}", path=str(path))
        case Forked():
            return StoreFailed(
                f"the store {path} was opened by another process",
                recovery="Open it after the fork, in each process for itself.",
                path=str(path),
            )
        case sqlite3.Error() | ConnectionPoolClosedError() | ConnectionUnavailableError():
            return fault(error, path)
        case UnicodeDecodeError():  # what SQLite would say quotes what is damaged
            return LogCorrupt(f"{path}: database disk image is malformed", path=str(path))
        case _:
            return None


def fault(error: Exception, path: Path) -> MnemicError:
    """Return the error of mnemic that *error* stands for."""
    if isinstance(error, ConnectionPoolClosedError):
        return Closed(f"the store {path} is closed", path=str(path))
    if isinstance(error, ConnectionUnavailableError):
        return StoreBusy(f"{path}: {error}", path=str(path))
    code = family(error)
    if code == sqlite3.SQLITE_ERROR and str(error).startswith("no such"):  # of what we have made
        code = sqlite3.SQLITE_CORRUPT
    return _FAMILIES.get(code, StoreFailed)(
        f"{path}: {error}", recovery=RECOVERIES.get(code), path=str(path)
    )


def family(error: Exception) -> int:
    """Return the primary result code of *error*; -1 if SQLite itself gave none."""
    code: int = getattr(error, "sqlite_errorcode", -1)
    return code & PRIMARY if code >= 0 else -1


def is_damage(error: sqlite3.Error) -> bool:
    """Return whether *error*, met while rows were read, means that stored bytes are bad.

    An error without a result code comes from Python's own decoding of a column.
    """
    return family(error) in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, -1}
