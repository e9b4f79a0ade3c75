"""The files of checkpoints: named, written atomically, and destroyed.

``<space>-<mark>-v<version>.checkpoint``, the space's name made safe, and a mark of the name and of
the log's first event, so that spaces and stores can share a folder. An unfinished file is called
``….checkpoint.<token>.tmp`` and locked; one without a lock was left by a dead process.
``<space>-<mark>-<token>.arrays`` has the arrays of one or several checkpoints: see ``array_file``.

No file is kept open between calls but array files, which are mapped where that is possible.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from math import inf
from pathlib import Path

from mnemic.adapters.checkpoints.file_locks import THE_FILE_ITSELF, erase, locked
from mnemic.adapters.system import descriptor_locks
from mnemic.adapters.system.folders import (
    PRIVATE,
    draft,
    make,
    own_name,
    sync,
)

ENDING = ".checkpoint"
ARRAYS = ".arrays"
UNFINISHED = ".tmp"
KEPT = 2
"""Valid checkpoints that are kept: the newest, and one in case that it is damaged."""
ZEROS = bytes(2**16)

_VERSION = re.compile(r"-v([0-9]+)\.checkpoint")
_OURS = re.compile(r"-[0-9a-f]{12}-(v[0-9]{12}\.checkpoint|[0-9a-f]{16}\.arrays)$")
_NEW = THE_FILE_ITSELF | os.O_CREAT | os.O_EXCL


class Abandoned(Exception):
    """A checkpoint was not finished because it is obsolete. Internal to the adapter."""


class Folder:
    """The checkpoints of one space, in a folder that others may share.

    Args:
        path: Made with the first checkpoint.
        space: The space's name.
        genesis: Chain digest of the log's first event.
    """

    def __init__(self, path: Path, *, space: str, genesis: bytes) -> None:
        self.path = path
        self._prefix = f"{own_name(space, genesis)}-"

    # --- what is there ------------------------------------------------------------------------

    def place(self, version: int) -> Path:
        """Return the path of the checkpoint at *version*."""
        return self.path / f"{self._prefix}v{version:012d}{ENDING}"

    def files(self) -> list[Path]:
        """Return the checkpoints of this space, newest first."""
        own = [file for file in self._entries() if self.owns(file) and version_of(file) >= 0]
        return sorted(own, key=version_of, reverse=True)

    def array_files(self) -> list[Path]:
        """Return the array files of this space."""
        return [file for file in self._entries() if self.owns(file) and file.suffix == ARRAYS]

    def owns(self, file: Path) -> bool:
        """Return whether a file is named as one of this space."""
        return file.name.startswith(self._prefix)

    def all(self) -> list[Path]:
        """Return every checkpoint and array file; none if the folder cannot be read."""
        entries = self._entries()
        return sorted(file for file in entries if version_of(file) >= 0 or file.suffix == ARRAYS)

    def unused(self, age_s: float) -> list[Path]:
        """Return checkpoints and array files of other spaces, written longer than *age_s* ago."""
        before_s = time.time() - age_s
        return [
            file
            for file in self._entries()
            if _OURS.search(file.name) and not self.owns(file) and modified_s(file) < before_s
        ]

    def unfinished(self) -> list[Path]:
        """Return the unfinished files of this space, of any process."""
        return [
            file for file in self._entries() if self.owns(file) and file.name.endswith(UNFINISHED)
        ]

    def orphans(self) -> list[Path]:
        """Return the unfinished files of dead processes, of any space."""
        return [
            file
            for file in self._entries()
            if file.name.endswith(UNFINISHED) and ENDING in file.name and not _is_locked(file)
        ]

    def _entries(self) -> list[Path]:
        try:
            return list(self.path.iterdir())
        except OSError:
            return []

    # --- writing ------------------------------------------------------------------------------

    def write(
        self, version: int, pieces: Iterable[memoryview | bytes], *, mode: int = PRIVATE
    ) -> Path:
        """Write the checkpoint at *version* atomically.

        Args:
            version: Its name.
            pieces: Its bytes.
            mode: Who may read and write it.

        Raises:
            OSError: The disk is full, the folder cannot be written, ...
            Abandoned: The producer of the pieces raised it, or the file was removed meanwhile.
        """
        make(self.path, mode)
        place = self.place(version)
        unfinished = place.with_name(f"{place.name}.{os.urandom(4).hex()}{UNFINISHED}")
        try:
            draft(unfinished, pieces, mode)
            try:
                unfinished.replace(place)
            except FileNotFoundError as error:
                raise Abandoned from error
        except BaseException:
            destroy(unfinished)
            raise
        sync(self.path)
        return place

    def write_for(
        self,
        arrays: tuple[Path, int],
        version: int,
        pieces: Iterable[memoryview | bytes],
        *,
        mode: int = PRIVATE,
    ) -> Path:
        """Write the checkpoint at *version*, unless its array file has been removed.

        Args:
            arrays: Path and descriptor of the array file.
            version: As for ``write``.
            pieces: As for ``write``.
            mode: As for ``write``.

        Raises:
            OSError: As ``write``.
            Abandoned: The array file has been removed, or as ``write``.
        """
        file = self.write(version, pieces, mode=mode)
        if not is_at(*arrays):
            destroy(file)
            raise Abandoned
        return file

    @contextmanager
    def new_array_file(self, *, mode: int = PRIVATE) -> Generator[tuple[Path, int]]:
        """Make an array file, locked within the context, and destroy it if that fails.

        Args:
            mode: Who may read and write it.

        Raises:
            OSError: The folder cannot be written, ...
        """
        make(self.path, mode)
        place = self.path / f"{self._prefix}{os.urandom(8).hex()}{ARRAYS}"
        descriptor = os.open(place, _NEW, PRIVATE)
        try:
            if os.name == "posix":
                os.fchmod(descriptor, mode)
            locked(descriptor)
            yield place, descriptor
        except BaseException:
            with suppress(OSError):
                erase(descriptor)
            remove(place)
            raise
        finally:
            os.close(descriptor)

    @contextmanager
    def newest(self) -> Generator[Path | None]:
        """Return the newest checkpoint, which no other process may extend within the context.

        None: there is none, or another process is extending it.
        """
        files = self.files()
        descriptor = _opened(files[0]) if files else None
        if descriptor is None:
            yield None
            return
        try:
            free = locked(descriptor) and self.files()[:1] == files[:1]
            yield files[0] if free and is_at(files[0], descriptor) else None
        finally:
            os.close(descriptor)


def is_at(place: Path, descriptor: int) -> bool:
    """Return whether an open file is still at *place*."""
    try:
        return os.path.samestat(place.lstat(), os.fstat(descriptor))
    except OSError:
        return False


def _opened(file: Path) -> int | None:
    try:
        return os.open(file, THE_FILE_ITSELF)
    except OSError:
        return None


def version_of(file: Path) -> int:
    """Return the version in the name of a checkpoint; -1 if it is not named like one."""
    found = _VERSION.search(file.name)
    return int(found[1]) if found and file.name.endswith(found[0]) else -1


def modified_s(file: Path) -> float:
    """Return when a file was written last, as a time of the system; infinity: it is gone."""
    with suppress(OSError):
        return file.stat().st_mtime
    return inf


def remove(file: Path) -> bool:
    """Remove a file; return whether it is gone."""
    with suppress(OSError):
        file.unlink(missing_ok=True)
    return not file.exists()


def destroy(file: Path) -> bool:
    """Overwrite a file with zeros and remove it; return whether it is gone.

    Of a link of that name only the link is removed: what it points to was never written here. An
    array file that is mapped is overwritten by the last process that lets go of it.
    """
    if file.suffix == ARRAYS:
        descriptor = _opened(file)
        if descriptor is not None:
            with suppress(OSError):
                erase(descriptor)
            os.close(descriptor)
        return remove(file)
    with suppress(OSError), os.fdopen(os.open(file, THE_FILE_ITSELF), "r+b", 0) as stored:
        left = os.fstat(stored.fileno()).st_size
        while left > 0:
            left -= stored.write(ZEROS[:left])
        os.fsync(stored.fileno())
    return remove(file)


def _is_locked(file: Path) -> bool:
    """Return whether a file is being written; True if that cannot be found out."""
    try:
        with file.open("r+b") as draft:
            return descriptor_locks.is_held(draft.fileno())
    except FileNotFoundError:
        return False
    except OSError:
        return True
