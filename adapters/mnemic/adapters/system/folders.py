"""Folders with derived files of spaces: their names, permissions and durability."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterable
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path

from mnemic.adapters.system import descriptor_locks

SLUG_MAX = 24
MARK_BYTES = 6
PRIVATE = 0o600
"""Permissions of a file that only its owner may read."""
BINARY = getattr(os, "O_BINARY", 0)
NO_LINK = getattr(os, "O_NOFOLLOW", 0)
"""Opens the file itself, never the target of a link."""
NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""Error codes for a full disk, a used-up quota, a file that may not grow."""

_READ_AND_WRITE = 0o666
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | BINARY

_PLAIN = re.compile(r"[^a-z0-9]+")


def own_name(space: str, genesis: bytes) -> str:
    """Return the prefix of a space's file names, so that spaces and stores can share a folder.

    It is the space's name made safe, and a mark of that name and of the log's first event.

    Args:
        space: The space's name.
        genesis: Chain digest of the log's first event.
    """
    slug = _PLAIN.sub("-", space.lower()).strip("-")[:SLUG_MAX] or "space"
    named = space.encode("utf-8", "surrogatepass") + genesis
    return f"{slug}-{blake2b(named, digest_size=MARK_BYTES).hexdigest()}"


def make(folder: Path, mode: int) -> None:
    """Make a folder unless it exists; those who may read its files may list it.

    Args:
        folder: Its path.
        mode: Permissions of its files.

    Raises:
        NotADirectoryError: Its path names something else.
        OSError: It cannot be made.
    """
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
        folder.chmod(mode | ((mode >> 2) & 0o111))
    if not folder.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, "not a folder", str(folder))


def made_like(path: Path, *, of: Path | None) -> int:
    """Open a file to read and write; make it with the permissions of another if it does not exist.

    Args:
        path: Its path.
        of: The other file. None: only the owner may use the new one.

    Returns:
        Its descriptor.

    Raises:
        OSError: It cannot be made or opened, or is a link to something else.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | BINARY, PRIVATE)
    except FileExistsError:
        return os.open(path, os.O_RDWR | os.O_CREAT | NO_LINK | BINARY, PRIVATE)
    if of is not None:
        with suppress(OSError):  # it is still empty, or the file system has no permissions
            path.chmod(of.stat().st_mode & _READ_AND_WRITE)
    return descriptor


def draft(file: Path, pieces: Iterable[memoryview | bytes], mode: int) -> None:
    """Write a new file to the disk, locked until it is complete.

    Args:
        file: A path that is not in use.
        pieces: Its bytes.
        mode: Its permissions.

    Raises:
        OSError: The disk is full, the folder cannot be written, ...
    """
    with os.fdopen(os.open(file, _NEW, PRIVATE), "wb") as written:
        if os.name == "posix":
            os.fchmod(written.fileno(), mode)
        with suppress(OSError):  # some file systems have no locks; then nothing is swept, either
            descriptor_locks.take(written.fileno())  # until it is closed
        for piece in pieces:
            written.write(piece)
        written.flush()
        os.fsync(written.fileno())


def sync(folder: Path) -> None:
    """Make new names survive a power cut, where folders can be synchronised."""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def cache_folder() -> Path:
    """Return the folder for what this user may delete at any time, as the system names it."""
    home = Path.home()
    if os.name == "nt":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / "mnemic"
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "mnemic"
