"""The file of a store, and what stands around it: ours, readable, writable, room to grow."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import lock_descriptor, unlock_descriptor

from mnemic.adapters.cli.diagnosis.findings import About, Finding
from mnemic.kernel.errors import MnemicError
from mnemic.kernel.results import plural

if TYPE_CHECKING:
    from mnemic.adapters.stores.sqlite import SQLiteStore

BYTES_PER_MB = 1_000_000
FREE_MIN_MB = 100
"""Less room than this on the disk is worth a word: checkpoints and a compaction take some."""
HEADER_BYTES = 100
"""Source: sqlite.org/fileformat.html, section 1.3."""
MAGIC = b"SQLite format 3\0"
NEIGHBOURS_SHOWN = 5

ABOUT = About(name="store")


def missing(path: Path) -> Finding:
    """Return that there is no store, and which may have been meant."""
    others = neighbours(path)
    return ABOUT.problem(
        "file",
        f"there is no file {path}",
        remedy=(
            f"Did you mean {listed(others)}? Name it with --db or MNEMIC_DB."
            if others
            else "Name another with --db or MNEMIC_DB, or make it: `mnemic learn`, `mnemic ingest`."
        ),
    )


def premises(path: Path) -> Iterator[Finding]:
    """Look at a file that is there, without opening it as a store.

    Args:
        path: The file, with links followed.
    """
    try:
        facts = path.stat()
        free = shutil.disk_usage(path.parent).free
    except OSError as error:
        yield ABOUT.problem(
            "file", f"{path}: {error.strerror}", remedy="See that you may read the file."
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
    """Look at how the file is kept."""
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
            remedy="Write something: whoever opens the store to write sets it right.",
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
            f"{shown}; you may read, and neither learn nor record what you recall",
            remedy="Make the file and its folder writable if you want to write.",
        )
    if os.name == "posix" and mode & stat.S_IWOTH:
        return ABOUT.warning(
            "permissions", f"{shown}: everybody may write", remedy=f"chmod o-w {path}"
        )
    return ABOUT.ok("permissions", f"{shown}; you may read and write")


def _room(path: Path, free: int) -> Finding:
    if free < FREE_MIN_MB * BYTES_PER_MB:
        return ABOUT.warning(
            "disk",
            f"{megabytes(free)} free in {path.parent}",
            remedy="Make room: a full disk refuses what is learned.",
        )
    return ABOUT.ok("disk", f"{megabytes(free)} free")


def _writers(path: Path) -> Finding:
    """Say whether somebody holds the right to write just now. No lock file is made."""
    for ending in (".gate", ".lock"):
        lock = path.with_name(f"{path.name}{ending}")
        if lock.exists() and _is_taken(lock):
            return ABOUT.warning(
                "writers",
                f"somebody holds {lock.name} just now",
                remedy="Ask again; if it stays so, end the process that hangs over it.",
            )
    return ABOUT.ok("writers", "nobody is writing just now")


def _is_taken(lock: Path) -> bool:
    try:
        descriptor = os.open(lock, os.O_RDWR)
    except OSError:
        return False  # not ours to take; the permissions say so
    try:
        if not lock_descriptor(descriptor, blocking=False):
            return True
        unlock_descriptor(descriptor)
    except OSError:
        return False  # a file system without locks
    finally:
        os.close(descriptor)
    return False


def _tokens(path: Path) -> Iterator[Finding]:
    """Look at the file of access tokens, if there is one: whole, and nobody else's to read."""
    from mnemic.adapters.access.register import Register, beside

    try:
        found = Register(beside(path)).read()
    except MnemicError as error:
        yield ABOUT.failure("tokens", error)
        return
    if found.stamp is not None:
        yield ABOUT.ok("tokens", f"{plural(len(found.tokens), 'token')} in {beside(path).name}")


def _leftovers(path: Path) -> Iterator[Finding]:
    """Name what killed copies left beside the store: it holds words."""
    from mnemic.adapters.exchange.asides import MIGRATION, leftovers

    for folder in leftovers(path.parent):
        unfinished = folder.name.endswith(MIGRATION)
        yield ABOUT.warning(
            "leftovers",
            f"{folder} holds words, and nobody is working on it",
            remedy="Run that `mnemic migrate` again to end it, or delete the folder."
            if unfinished
            else "Delete the folder; the next copy beside it does so, too.",
        )


# --- other stores ---------------------------------------------------------------------------


def neighbours(path: Path) -> list[Path]:
    """Return the other stores of mnemic in the folder of *path*, large ones first."""
    try:
        files = [file for file in path.parent.iterdir() if file != path and _is_store(file)]
        return sorted(files, key=lambda file: (-file.stat().st_size, file.name))
    except OSError:
        return []


def listed(files: list[Path]) -> str:
    """Return some files with their sizes, in a line."""
    shown = [f"{file} ({megabytes(file.stat().st_size)})" for file in files[:NEIGHBOURS_SHOWN]]
    more = f" and {len(files) - len(shown)} more" if len(files) > len(shown) else ""
    return ", ".join(shown) + more


def _is_store(file: Path) -> bool:
    """Say whether the header of a file is that of a store; it is not opened as one."""
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
    """Return a size as a person reads it."""
    return f"{size / BYTES_PER_MB:,.2f} MB"
