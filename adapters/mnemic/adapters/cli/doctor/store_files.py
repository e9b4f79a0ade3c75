"""The checks of a store's file and folder: format, permissions, disk space, locks, leftovers."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from mnemic.adapters.cli.doctor.findings import About, Finding
from mnemic.adapters.stores.logs.write_lock import lock_file
from mnemic.adapters.system import descriptor_locks
from mnemic.kernel.errors import MnemicError
from mnemic.kernel.results import plural

if TYPE_CHECKING:
    from mnemic.adapters.stores.sqlite import SQLiteStore

BYTES_PER_MB = 1_000_000
FREE_MIN_MB = 100
"""Free disk space below which a warning is given: checkpoints and a compaction need some."""
HEADER_BYTES = 100
"""Source: sqlite.org/fileformat.html, section 1.3."""
MAGIC = b"SQLite format 3\0"
NEIGHBOURS_SHOWN = 5

ABOUT = About(name="store")


def missing(path: Path) -> Finding:
    """Return the finding that there is no store, with others that may have been meant."""
    others = neighbours(path)
    return ABOUT.problem(
        "file",
        f"there is no file {path}",
        remedy=(
            f"Did you mean {listed(others)}? Name it with --db or MNEMIC_DB."
            if others
            else "Name another with --db or MNEMIC_DB, or create it with `mnemic learn` or "
            "`mnemic ingest`."
        ),
    )


def premises(path: Path) -> Iterator[Finding]:
    """Check an existing file, without opening it as a store.

    Args:
        path: The file, with links followed.
    """
    try:
        facts = path.stat()
        free = shutil.disk_usage(path.parent).free
    except OSError as error:
        yield ABOUT.problem(
            "file", f"{path}: {error.strerror}", remedy="Make sure that you may read the file."
        )
        return
    log = path.with_name(f"{path.name}-wal")
    waiting = log.stat().st_size if log.exists() else 0
    yield ABOUT.ok(
        "file", f"{path}, {megabytes(facts.st_size)}, and {megabytes(waiting)} in its log"
    )
    yield _modes(path, facts.st_mode)
    yield _room(path, free)
    yield _writers(path)
    yield from _tokens(path)
    yield from _leftovers(path)


def tables(store: SQLiteStore) -> Iterator[Finding]:
    """Check the format and the journal mode of the file."""
    try:
        with store.recorder.datastore.reading() as c:
            version: int = c.execute("PRAGMA user_version").fetchone()[0]
            journal: str = c.execute("PRAGMA journal_mode").fetchone()[0]
    except MnemicError as error:
        yield ABOUT.failure("format", error)
        return
    yield ABOUT.ok("format", f"{version}, of mnemic")
    if journal == "wal":
        yield ABOUT.ok("journal", "write-ahead: readers and a writer do not wait for each other")
    else:
        yield ABOUT.warning(
            "journal",
            f"mode {journal}; readers and writers wait for each other",
            remedy="Write something: opening the store for writing corrects it.",
        )
    try:
        store.check_spaces()
    except MnemicError as error:
        yield ABOUT.failure("lost", error)


def _modes(path: Path, mode: int) -> Finding:
    shown = stat.filemode(mode)
    if not os.access(path, os.R_OK):
        return ABOUT.problem(
            "permissions", f"{shown}, and you may not read it", remedy=f"chmod u+r {path}"
        )
    if not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)):
        return ABOUT.warning(
            "permissions",
            f"{shown}; you may read, but neither learn nor record recalls",
            remedy="Make the file and its folder writable if you want to write.",
        )
    if os.name == "posix" and mode & stat.S_IWOTH:
        return ABOUT.warning(
            "permissions", f"{shown}: every user may write", remedy=f"chmod o-w {path}"
        )
    return ABOUT.ok("permissions", f"{shown}; you may read and write")


def _room(path: Path, free: int) -> Finding:
    if free < FREE_MIN_MB * BYTES_PER_MB:
        return ABOUT.warning(
            "disk",
            f"{megabytes(free)} free in {path.parent}",
            remedy="Free some space: on a full disk nothing can be learned.",
        )
    return ABOUT.ok("disk", f"{megabytes(free)} free")


def _writers(path: Path) -> Finding:
    """Check whether another process holds the write lock now. No file is created."""
    lock = lock_file(path)
    if lock.exists() and _is_taken(lock):
        return ABOUT.warning(
            "writers",
            f"a process holds the write lock, {lock.name}, now",
            remedy="Run this again; if it persists, end the process that holds it.",
        )
    return ABOUT.ok("writers", "no process is writing now")


def _is_taken(lock: Path) -> bool:
    try:
        descriptor = os.open(lock, os.O_RDWR)
    except OSError:
        return False  # it may not be opened, which the permissions check reports
    try:
        return descriptor_locks.is_held(descriptor)
    except OSError:
        return False  # a file system without locks
    finally:
        os.close(descriptor)


def _tokens(path: Path) -> Iterator[Finding]:
    """Check that the file of access tokens, if there is one, is intact and private."""
    from mnemic.adapters.access.register import Register, beside

    try:
        found = Register(beside(path)).read()
    except MnemicError as error:
        yield ABOUT.failure("tokens", error)
        return
    if found.stamp is not None:
        yield ABOUT.ok("tokens", f"{plural(len(found.tokens), 'token')} in {beside(path).name}")


def _leftovers(path: Path) -> Iterator[Finding]:
    """Report folders that killed copies left next to the store: they contain texts."""
    from mnemic.adapters.files.temporary_folders import MIGRATION, leftovers

    for folder in leftovers(path.parent):
        unfinished = folder.name.endswith(MIGRATION)
        yield ABOUT.warning(
            "leftovers",
            f"{folder} contains texts, and no process is using it",
            remedy="Run that `mnemic migrate` again to finish it, or delete the folder."
            if unfinished
            else "Delete the folder; the next copy into this place does so, too.",
        )


# --- other stores ---------------------------------------------------------------------------


def neighbours(path: Path) -> list[Path]:
    """Return the other stores of mnemic in the folder of *path*, largest first."""
    try:
        files = [file for file in path.parent.iterdir() if file != path and is_store(file)]
        return sorted(files, key=lambda file: (-file.stat().st_size, file.name))
    except OSError:
        return []


def listed(files: list[Path]) -> str:
    """Return some files with their sizes, on one line."""
    shown = [f"{file} ({megabytes(file.stat().st_size)})" for file in files[:NEIGHBOURS_SHOWN]]
    more = f" and {len(files) - len(shown)} more" if len(files) > len(shown) else ""
    return ", ".join(shown) + more


def is_store(file: Path) -> bool:
    """Return whether the header of a file is that of a store; it is not opened as one."""
    from mnemic.adapters.stores.sqlite.format import APPLICATION_ID

    try:
        if not file.is_file():
            return False
        with file.open("rb") as opened:
            header = opened.read(HEADER_BYTES)
    except OSError:
        return False
    return header.startswith(MAGIC) and int.from_bytes(header[68:72], "big") == APPLICATION_ID


def megabytes(size: int) -> str:
    """Return a size in megabytes for display."""
    return f"{size / BYTES_PER_MB:,.2f} MB"
