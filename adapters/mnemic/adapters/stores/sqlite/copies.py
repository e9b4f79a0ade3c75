"""Copies of a SQLite store: a consistent copy of a busy one, closed into a single file."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from mnemic.adapters.stores.sqlite.faults import named
from mnemic.adapters.stores.sqlite.store import SQLiteStore
from mnemic.adapters.system.folders import BINARY, PRIVATE

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | BINARY


def copy_out(store: SQLiteStore, path: Path) -> None:
    """Write a consistent snapshot into a new file that only its owner may read.

    ``VACUUM INTO``: one read that neither blocks writers nor is restarted by them, and that copies
    rows and no freed page. (SQLite's online backup restarts with every write by another process,
    and copies free pages too; event by event a copy takes nine times as long.)

    Args:
        store: Others may write it meanwhile; what they write is not in the copy.
        path: A file that does not exist.

    Raises:
        LogCorrupt: A page of the store cannot be read.
        StoreFull, StoreFailed: The file cannot be written.
    """
    with named(path):
        os.close(os.open(path, _NEW, PRIVATE))
    with named(store.path), store.recorder.datastore.reading() as c:
        c.execute("VACUUM INTO ?", (str(path.absolute()),))


def close_up(path: Path) -> None:
    """Reduce a store that no process has open to a single file, durably.

    Readers of it make no further files; opening it to write turns it into a live store again.

    Raises:
        StoreFull, StoreFailed: It cannot be written.
    """
    with named(path):
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("PRAGMA journal_mode = DELETE")
        with path.open("rb+") as file:
            os.fsync(file.fileno())
