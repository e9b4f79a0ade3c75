"""How the file of a SQLite store is opened, made, or refused."""

from __future__ import annotations

import os
import sqlite3
from contextlib import suppress
from pathlib import Path

from mnemic.adapters.folders import BINARY, PRIVATE
from mnemic.adapters.stores.locking import WriterQueue
from mnemic.adapters.stores.sqlite.connections import Mode, Synchronous
from mnemic.adapters.stores.sqlite.faults import RECOVERIES, family
from mnemic.adapters.stores.sqlite.format import is_new
from mnemic.adapters.stores.sqlite.heads import Heads, forget
from mnemic.adapters.stores.sqlite.recorder import SpaceFactory, SpaceRecorder
from mnemic.kernel.errors import NotAStore, StoreFailed

_NO_PLACE = {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY}
"""What SQLite says when it cannot make the files that readers and writers share."""


def to_write(path: Path, synchronous: Synchronous, queue: WriterQueue) -> SpaceRecorder:
    """Open *path* for reading and writing; make the file if there is none.

    Raises:
        NotAStore, StoreTooNew: If it is not ours, or not yet; it is left as it was.
        StoreFailed: If there is no such folder, or the file is read-only.
        sqlite3.Error: If SQLite cannot open or write it.
    """
    if not path.parent.is_dir():
        raise StoreFailed(
            f"there is no folder {path.parent}",
            recovery=f"Make the folder {path.parent}, or name another path.",
            path=str(path),
        )
    _make_private(path)
    _require_rights(path)
    recorder, new = _connected(path, "rwc", synchronous)
    try:
        if new:
            with queue.turn():
                recorder.begin()
        recorder.touch()
    except BaseException:
        recorder.datastore.close()
        queue.close()
        raise
    return recorder


def _make_private(path: Path) -> None:
    """Make an empty file that its owner alone may read, unless there is one.

    SQLite would make it as the umask says, for everybody to read in most places. What it makes
    beside it later has the permissions of the file, and so have checkpoints and locks.
    """
    place = Path(os.path.realpath(path))
    with suppress(OSError):  # it is there; or SQLite says what is wrong
        if not place.exists():
            forget(place)
        os.close(os.open(place, os.O_RDWR | os.O_CREAT | os.O_EXCL | BINARY, PRIVATE))


def _require_rights(path: Path) -> None:
    """Refuse a file that may only be read: SQLite opens it, and finds out with the first commit.

    Only asked, and not tried: to close a file lets go of the locks that SQLite has on it.

    Raises:
        StoreFailed: It is there and may not be written.
    """
    effectively = os.access in os.supports_effective_ids
    if path.exists() and not os.access(path, os.W_OK, effective_ids=effectively):
        raise StoreFailed(
            f"{path} is read-only", recovery=RECOVERIES[sqlite3.SQLITE_READONLY], path=str(path)
        )


def to_read(path: Path, heads: Heads) -> SpaceRecorder:
    """Open *path* for reading only.

    Args:
        path: The file.
        heads: What is known of its logs. They are held if the file has to be taken as it stands.

    Raises:
        NotAStore, StoreTooNew: If it is not ours, or not yet.
        StoreFailed: If there is no such file.
        sqlite3.Error: If SQLite cannot open it.
    """
    if not path.exists():
        raise StoreFailed(
            f"there is no file {path}",
            recovery="Name a file that exists, or open it without read_only to make one.",
            path=str(path),
        )
    try:
        recorder, new = _connected(path, "ro")
    except sqlite3.OperationalError as error:
        heads.hold()  # first: what comes later is not seen in the file
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
    """Return whether all that was written stands in the file itself."""
    write_ahead = path.with_name(f"{path.name}-wal")
    return not write_ahead.exists() or write_ahead.stat().st_size == 0
