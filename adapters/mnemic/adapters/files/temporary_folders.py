"""Temporary folders for files being written: private, hidden, and removed after a kill.

Rules of this module:

1. What is being written for ``agent.db`` is kept in ``.agent.db.<token>.mnemic-part`` in the same
   folder, so that it can be moved to its path at once. Only its owner may read the folder.
2. A file in it is locked as long as its process lives. A folder without a lock was left by a dead
   process and may hold text: the next process that makes one in the same place removes it. The lock
   file gets its name only once it is locked, so a new folder never looks abandoned.
3. A copy that can be resumed has a folder with a predictable name,
   ``.agent.db.mnemic-migration``. It is removed only by the process that completes the copy.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from mnemic.adapters.system import descriptor_locks
from mnemic.adapters.system.folders import PRIVATE
from mnemic.kernel.errors import StoreBusy

PART = ".mnemic-part"
MIGRATION = ".mnemic-migration"
ENDINGS = (PART, MIGRATION)
LOCK = ".held" + PART
BEGUN = ".begun" + PART
"""Name of the lock file until it is locked."""


@contextmanager
def aside(path: Path) -> Generator[Path]:
    """Make a temporary folder for what is to become *path*; it is removed after the ``with`` block.

    Raises:
        OSError: It cannot be made or locked.
    """
    sweep(path.parent)
    folder = Path(tempfile.mkdtemp(PART, f".{path.name}.", path.parent))
    try:
        with _locked(folder / BEGUN):
            with suppress(OSError):  # without links nothing sweeps it, not even after a kill
                (folder / LOCK).hardlink_to(folder / BEGUN)
            yield folder
    finally:
        _remove(folder)


@contextmanager
def resumable(path: Path) -> Generator[Path]:
    """Open the folder of a resumable copy for a ``with`` block.

    It stays if the block fails, and is removed if it succeeds.

    Raises:
        StoreBusy: Another process is using it.
        OSError: It cannot be made or locked.
    """
    sweep(path.parent)
    folder = unfinished(path)
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    with _locked(folder / LOCK):
        yield folder
    _remove(folder)


def unfinished(path: Path) -> Path:
    """Return the path of an unfinished copy that is to become *path*."""
    return path.with_name(f".{path.name}{MIGRATION}")


def sweep(parent: Path) -> None:
    """Remove what killed processes left in a folder, as far as that can be done."""
    for folder in leftovers(parent):
        if folder.name.endswith(PART):
            _remove(folder)


def leftovers(parent: Path) -> list[Path]:
    """Return the temporary folders in *parent* that no process uses."""
    return [folder for folder in present(parent) if not _is_taken(folder / LOCK)]


def present(parent: Path) -> Iterator[Path]:
    """Yield the temporary folders in *parent*, by name, whether or not a process uses them."""
    try:
        entries = sorted(parent.iterdir())
    except OSError:
        return
    for entry in entries:
        name = entry.name
        if name.startswith(".") and name.endswith(ENDINGS) and not entry.is_symlink():
            with suppress(OSError):
                if (entry / LOCK).is_file():  # a folder without one is just being made
                    yield entry


@contextmanager
def _locked(lock: Path) -> Generator[None]:
    descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, PRIVATE)
    try:
        if not _take(descriptor):
            place = str(lock.parent)
            raise StoreBusy(f"another process is working in {place}", path=place)
        yield
    finally:
        os.close(descriptor)


def _take(descriptor: int) -> bool:
    try:
        return descriptor_locks.take(descriptor)
    except OSError:
        return True  # a file system without locks; there nothing is swept, either


def _is_taken(lock: Path) -> bool:
    """Return whether a lock is held; True if that cannot be found out."""
    try:
        descriptor = os.open(lock, os.O_RDWR)
    except OSError:
        return True
    try:
        return descriptor_locks.is_held(descriptor)
    except OSError:
        return True
    finally:
        os.close(descriptor)


def _remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
