"""Opening, making or refusing the file of a SQLite store."""

from __future__ import annotations

import os
import sqlite3
from contextlib import suppress
from pathlib import Path

from mnemic.adapters.stores.logs.write_lock import WriteLock
from mnemic.adapters.stores.sqlite.connections import Mode, Synchronous
from mnemic.adapters.stores.sqlite.faults import RECOVERIES, family
from mnemic.adapters.stores.sqlite.format import is_new
from mnemic.adapters.stores.sqlite.recorder import SpaceFactory, SpaceRecorder
from mnemic.adapters.stores.sqlite.remains import check_not_deleted
from mnemic.adapters.stores.sqlite.watermark import Watermarks, forget
from mnemic.adapters.system.folders import BINARY, PRIVATE
from mnemic.kernel.errors import NotAStore, StoreFailed

_NO_PLACE = {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY}
"""SQLite's message when it cannot make the files that readers and writers share."""


def to_write(path: Path, synchronous: Synchronous, queue: WriteLock) -> SpaceRecorder:
    """Open *path* for reading and writing; make the file if there is none.

    Raises:
        NotAStore, StoreTooNew: It belongs to another program or release; it is left unchanged.
        StoreMissing: If the file is gone, and what belongs to it is left.
        StoreFailed: If there is no such folder, or the file is read-only.
        sqlite3.Error: If SQLite cannot open or write it.
    """
    if not path.parent.is_dir():
        raise StoreFailed(
            f"there is no folder {path.parent}",
            recovery=f"Make the folder {path.parent}, or name another path.",
            path=str(path),
        )
    if check_not_deleted(path):
        _make_private(path)
    _require_rights(path)
    recorder, new = _connected(path, "rw", synchronous)
    try:
        if new:
            with queue.write_lock():
                recorder.begin()
        recorder.touch()
    except BaseException:
        recorder.datastore.close()
        queue.close()
        raise
    return recorder


def _make_private(path: Path) -> None:
    """Make an empty file that only its owner may read, where there was none.

    SQLite would make it as the umask says, readable by everyone in most places. The files that it
    adds later have the permissions of the first, and so have checkpoints and locks.
    """
    place = Path(os.path.realpath(path))
    with suppress(OSError):  # it exists by now; or SQLite reports what is wrong
        os.close(os.open(place, os.O_RDWR | os.O_CREAT | os.O_EXCL | BINARY, PRIVATE))
        forget(place)


def _require_rights(path: Path) -> None:
    """Refuse a read-only file: SQLite would open it, and find out with the first commit.

    Permissions are queried without opening: closing a file releases SQLite's locks on it.

    Raises:
        StoreFailed: It exists and may not be written.
    """
    effectively = os.access in os.supports_effective_ids
    if path.exists() and not os.access(path, os.W_OK, effective_ids=effectively):
        raise StoreFailed(
            f"{path} is read-only", recovery=RECOVERIES[sqlite3.SQLITE_READONLY], path=str(path)
        )


def to_read(path: Path, heads: Watermarks) -> SpaceRecorder:
    """Open *path* for reading only.

    Args:
        path: The file.
        heads: Watermarks of its logs. They are frozen if the file has to be read as it is now.

    Raises:
        NotAStore, StoreTooNew: It belongs to another program or release.
        StoreMissing: As ``to_write``.
        StoreFailed: If there is no such file.
        sqlite3.Error: If SQLite cannot open it.
    """
    check_not_deleted(path)
    if not path.exists():
        raise StoreFailed(
            f"there is no file {path}",
            recovery="Name a file that exists, or open it without read_only to make one.",
            path=str(path),
        )
    try:
        recorder, new = _connected(path, "ro")
    except sqlite3.OperationalError as error:
        heads.hold()  # before the file is read: later writes are not seen in it
        if family(error) not in _NO_PLACE or not _is_settled(path):
            raise
        recorder, new = _connected(path, "ro&immutable=1")
    if new:
        recorder.datastore.close()
        raise NotAStore(f"{path} is empty", path=str(path))
    return recorder


def _connected(
    path: Path, mode: Mode, synchronous: Synchronous = "full"
) -> tuple[SpaceRecorder, bool]:
    """Return a recorder for the file, and whether the file is new. Nothing is written yet."""
    if path.is_dir():
        raise NotAStore(f"{path} is a folder", path=str(path))
    recorder = SpaceFactory(path, mode=mode, synchronous=synchronous).aggregate_recorder()
    try:
        with recorder.datastore.reading() as c:
            return recorder, is_new(c, path)
    except BaseException:
        recorder.datastore.close()
        raise


def _is_settled(path: Path) -> bool:
    """Return whether everything that was written is in the file itself."""
    write_ahead = path.with_name(f"{path.name}-wal")
    return not write_ahead.exists() or write_ahead.stat().st_size == 0
