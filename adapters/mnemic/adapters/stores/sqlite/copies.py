"""A SQLite store as one file at rest: copied out of a busy one, and closed up."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from mnemic.adapters.folders import BINARY, PRIVATE
from mnemic.adapters.stores.sqlite.faults import named
from mnemic.adapters.stores.sqlite.store import SQLiteStore

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | BINARY


def copy_out(store: SQLiteStore, path: Path) -> None:
    """Write everything as it stands at one moment into a new file that only its owner may read.

    ``VACUUM INTO``: one read that writers neither hold up nor make begin again, and that takes rows
    along and no freed page. (SQLite's online backup begins again with every write by another
    process, and copies free pages too; event by event a copy takes nine times as long.)

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
    """Make a store that nobody has open stand in its one file, and last through a power cut.

    Whoever reads it makes no files beside it; whoever opens it to write makes it a live one again.

    Raises:
        StoreFull, StoreFailed: It cannot be written.
    """
    with named(path):
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("PRAGMA journal_mode = DELETE")
        with path.open("rb+") as file:
            os.fsync(file.fileno())
