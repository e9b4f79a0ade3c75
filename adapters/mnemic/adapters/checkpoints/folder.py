"""The files of checkpoints: how they are named, written whole or not at all, and destroyed.

``<space>-<mark>-v<version>.checkpoint``, the space's name made safe, and a mark of the name and of
the log's first event, so that spaces and stores can share a folder. What is being written is called
``….checkpoint.<token>.tmp`` and locked; one that nobody has locked was left by a dead process.

No file is kept open or mapped between calls: others may overwrite it, and on Windows no open file
can be removed.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from filelock import lock_descriptor, unlock_descriptor

from mnemic.adapters.folders import own_name, sync

ENDING = ".checkpoint"
UNFINISHED = ".tmp"
ZEROS = bytes(2**16)
PRIVATE = 0o600
"""Permissions of a file that only its owner may read: checkpoints hold words."""

_VERSION = re.compile(r"-v([0-9]+)\.checkpoint")
_BINARY = getattr(os, "O_BINARY", 0)
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY
_THE_FILE_ITSELF = os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | _BINARY


class Abandoned(Exception):
    """A checkpoint was not finished, since nobody wants it any more. Never leaves the adapter."""


class Folder:
    """The checkpoints of one space, in a folder that others may share.

    Args:
        path: Made with the first checkpoint.
        space: The space's name.
        genesis: Chain digest of the log's first event.
    """

    def __init__(self, path: Path, *, space: str, genesis: bytes) -> None:
        self.path = path
        self._prefix = f"{own_name(space, genesis)}-v"

    # --- what is there ------------------------------------------------------------------------

    def place(self, version: int) -> Path:
        """Return where the checkpoint at *version* stands, or would."""
        return self.path / f"{self._prefix}{version:012d}{ENDING}"

    def files(self) -> list[Path]:
        """Return the checkpoints of this space, newest first."""
        own = [file for file in self.all() if self.owns(file)]
        return sorted(own, key=version_of, reverse=True)

    def owns(self, file: Path) -> bool:
        """Say whether a file is named as a checkpoint of this space."""
        return file.name.startswith(self._prefix)

    def all(self) -> list[Path]:
        """Return every checkpoint in the folder; none if the folder cannot be read."""
        return sorted(file for file in self._entries() if version_of(file) >= 0)

    def unfinished(self) -> list[Path]:
        """Return what was being written of this space, whoever does."""
        return [
            file for file in self._entries() if self.owns(file) and file.name.endswith(UNFINISHED)
        ]

    def orphans(self) -> list[Path]:
        """Return what dead processes left unfinished, of any space."""
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
        """Write the checkpoint at *version*: the whole of it, or nothing.

        Args:
            version: Its name.
            pieces: Its bytes.
            mode: Who may read and write it.

        Raises:
            OSError: The disk is full, the folder cannot be written, ...
            Abandoned: Whoever makes the pieces says so, or the file was taken away meanwhile.
        """
        self._make(mode)
        place = self.place(version)
        draft = place.with_name(f"{place.name}.{secrets.token_hex(4)}{UNFINISHED}")
        try:
            self._draft(draft, pieces, mode)
            try:
                draft.replace(place)
            except FileNotFoundError as error:
                raise Abandoned from error
        except BaseException:
            destroy(draft)
            raise
        sync(self.path)
        return place

    def _make(self, mode: int) -> None:
        """Make the folder unless it is there; whoever may read its files may list them."""
        with suppress(FileExistsError):
            self.path.mkdir(mode=0o700)
            self.path.chmod(mode | ((mode >> 2) & 0o111))
        if not self.path.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, "not a folder", str(self.path))

    @staticmethod
    def _draft(draft: Path, pieces: Iterable[memoryview | bytes], mode: int) -> None:
        with os.fdopen(os.open(draft, _NEW, PRIVATE), "wb") as file:
            if os.name == "posix":
                os.fchmod(file.fileno(), mode)
            with suppress(OSError):  # some file systems know no locks; then nobody sweeps, either
                lock_descriptor(file.fileno(), blocking=False)  # until it is closed
            for piece in pieces:
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())


def version_of(file: Path) -> int:
    """Return the version in the name of a checkpoint; -1 if it is not named like one."""
    found = _VERSION.search(file.name)
    return int(found[1]) if found and file.name.endswith(found[0]) else -1


def remove(file: Path) -> bool:
    """Remove a file; say whether it is gone."""
    with suppress(OSError):
        file.unlink(missing_ok=True)
    return not file.exists()


def destroy(file: Path) -> bool:
    """Overwrite a file with zeros and remove it; say whether it is gone.

    Of a link that bears its name the link goes: what it points to was never written here.
    """
    with suppress(OSError), os.fdopen(os.open(file, _THE_FILE_ITSELF), "r+b", 0) as stored:
        left = os.fstat(stored.fileno()).st_size
        while left > 0:
            left -= stored.write(ZEROS[:left])
        os.fsync(stored.fileno())
    return remove(file)


def _is_locked(file: Path) -> bool:
    """Say whether somebody is writing a file; whoever cannot find out leaves it alone."""
    try:
        with file.open("r+b") as draft:
            if lock_descriptor(draft.fileno(), blocking=False):
                unlock_descriptor(draft.fileno())
                return False
    except FileNotFoundError:
        return False
    except OSError:
        pass
    return True
