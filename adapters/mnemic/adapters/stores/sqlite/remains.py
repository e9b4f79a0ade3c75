"""What a deleted database leaves behind: a write-ahead log with its last commits, and a watermark.

SQLite deletes a write-ahead log without a database, and a new database would silently replace the
old one. So such a path is refused, and the error names what is left.
"""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path

from mnemic.adapters.stores.sqlite.watermark import Watermarks
from mnemic.kernel.errors import StoreMissing
from mnemic.kernel.results import plural


def check_not_deleted(path: Path) -> bool:
    """Refuse a path whose database is gone, or empty, while a part of it is left.

    Returns:
        Whether there is no file.

    Raises:
        StoreMissing: With the names of what is left.
    """
    database = Path(os.path.realpath(path))
    size = _size(database)
    if size:
        return False
    left = _write_ahead(database)
    with closing(Watermarks(database, synchronous="full", read_only=True)) as heads:
        events = sum(known.head.version + 1 for known in heads.behind(0))
        if events:
            left.append(heads.path)
    if left:
        raise _missing(path, left, f", and {plural(events, 'event')} with it" if events else "")
    return size is None


def check_no_write_ahead(path: Path) -> None:
    """Refuse to put a database where the write-ahead log of another one is left.

    SQLite would take it for that of the new one.

    Raises:
        StoreMissing: With its name.
    """
    left = _write_ahead(Path(os.path.realpath(path)))
    if left:
        raise _missing(path, left, "")


def _missing(path: Path, left: list[Path], lost: str) -> StoreMissing:
    names = " and ".join(each.name for each in left)
    return StoreMissing(
        f"{path} is gone{lost}; {names} of it {'are' if len(left) > 1 else 'is'} left",
        recovery=f"Put the file back, or restore a backup elsewhere. If a new store is wanted at "
        f"this path, delete {names} first.",
        path=str(path),
        left=[each.name for each in left],
    )


def _write_ahead(database: Path) -> list[Path]:
    beside = database.with_name(f"{database.name}-wal")
    return [beside] if _size(beside) else []


def _size(path: Path) -> int | None:
    """Return the size of a file; None: there is none."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return None
