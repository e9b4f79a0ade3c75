"""Folders beside a file in the making: private, seen by nobody, and cleared away after a kill.

Rules of this module:

1. What is being written for ``agent.db`` stands in ``.agent.db.<token>.mnemic-part`` beside it, so
   that it can be moved into its place at once. The folder is its owner's alone.
2. A file in it is locked as long as its maker lives. A folder that nobody has locked was left by a
   dead process and may hold words: whoever next makes one beside it removes it. The lock has
   its name only once it is held, so nobody who has just begun looks dead.
3. A copy that can be gone on with has a folder of a name that can be found again,
   ``.agent.db.mnemic-migration``. Nobody removes that one but who brings the copy to its end.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import lock_descriptor, unlock_descriptor

from mnemic.adapters.folders import PRIVATE
from mnemic.kernel.errors import StoreBusy

PART = ".mnemic-part"
MIGRATION = ".mnemic-migration"
ENDINGS = (PART, MIGRATION)
LOCK = ".held" + PART
BEGUN = ".begun" + PART
"""What the lock is called until it is held."""


@contextmanager
def aside(path: Path) -> Generator[Path]:
    """Make a folder for what is to become *path*, for a ``with`` block; then it is gone.

    Raises:
        OSError: It cannot be made or locked.
    """
    sweep(path.parent)
    folder = Path(tempfile.mkdtemp(PART, f".{path.name}.", path.parent))
    try:
        with _locked(folder / BEGUN):
            with suppress(OSError):  # without links nobody sweeps it, not even after a kill
                (folder / LOCK).hardlink_to(folder / BEGUN)
            yield folder
    finally:
        _remove(folder)


@contextmanager
def resumable(path: Path) -> Generator[Path]:
    """Open the folder of a copy that goes on where it was, for a ``with`` block.

    It stays if the block fails, and goes if it ends well.

    Raises:
        StoreBusy: Somebody else is at it.
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
    """Return where a copy that is to become *path* stands until it is whole."""
    return path.with_name(f".{path.name}{MIGRATION}")


def sweep(parent: Path) -> None:
    """Remove what killed makers left in a folder, as far as that can be done."""
    for folder in leftovers(parent):
        if folder.name.endswith(PART):
            _remove(folder)


def leftovers(parent: Path) -> list[Path]:
    """Return the folders of ours in *parent* that nobody is working on."""
    return [folder for folder in _of_ours(parent) if not _is_taken(folder / LOCK)]


def _of_ours(parent: Path) -> Iterator[Path]:
    try:
        entries = sorted(parent.iterdir())
    except OSError:
        return
    for entry in entries:
        name = entry.name
        if name.startswith(".") and name.endswith(ENDINGS) and not entry.is_symlink():
            with suppress(OSError):
                if (entry / LOCK).is_file():  # a folder that has none yet is just being made
                    yield entry


@contextmanager
def _locked(lock: Path) -> Generator[None]:
    descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, PRIVATE)
    try:
        if not _take(descriptor):
            place = str(lock.parent)
            raise StoreBusy(f"somebody else is working in {place}", path=place)
        yield
    finally:
        os.close(descriptor)


def _take(descriptor: int) -> bool:
    try:
        return lock_descriptor(descriptor, blocking=False)
    except OSError:
        return True  # a file system without locks; there nobody sweeps, either


def _is_taken(lock: Path) -> bool:
    """Say whether somebody holds a lock; whoever cannot find out leaves it alone."""
    try:
        descriptor = os.open(lock, os.O_RDWR)
    except OSError:
        return True
    try:
        if not lock_descriptor(descriptor, blocking=False):
            return True
        unlock_descriptor(descriptor)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


def _remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
