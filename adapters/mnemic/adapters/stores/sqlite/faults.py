"""What SQLite says went wrong, as the errors of mnemic."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

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


@contextmanager
def named(path: Path) -> Generator[None]:
    """Turn what SQLite, the connection pool and the system raise about *path* into our errors."""
    try:
        yield
    except OSError as error:
        raise StoreFailed(f"{path}: {error.strerror or error}", path=str(path)) from error
    except Forked as error:
        raise StoreFailed(
            f"the store {path} was opened by another process",
            recovery="Open it after the fork, in each process for itself.",
            path=str(path),
        ) from error
    except (sqlite3.Error, ConnectionPoolClosedError, ConnectionUnavailableError) as error:
        raise fault(error, path) from error
    except UnicodeDecodeError as error:  # what SQLite would say quotes what is damaged
        raise LogCorrupt(f"{path}: database disk image is malformed", path=str(path)) from error


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
