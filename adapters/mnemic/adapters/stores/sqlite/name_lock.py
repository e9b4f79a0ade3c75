"""Refuses a database that is open under another name.

SQLite calls the write-ahead log after the path of the database. A file that is reached by two names
(a hard link, or a file that is mounted by itself into a container) has two of them, and what one
process commits, another overwrites. So:

1. A file with more than one link is refused. Symbolic links are resolved, by SQLite as by us.
2. Each process that has a file open holds a shared lock on one byte of it, far behind its end. The
   byte's offset is computed from the folder's inode and the file's name, which are the same for all
   paths and mounts of the folder. If any other such byte is locked, the file is open under another
   name. Such a lock belongs to the inode, and ends with the process.
3. These are locks of open file descriptions, which SQLite's own locks do not meet. But closing any
   descriptor of a file drops the locks that SQLite holds on it in this process. So a process has
   one descriptor for each inode, and closes it after the last connection.

Where the system has no such locks (macOS, Windows), the first rule applies alone.
Source: sqlite.org/howtocorrupt.html, 2.2 and 2.5.
"""

from __future__ import annotations

import os
import struct
import sys
import time
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from threading import RLock
from typing import Final

from attrs import define, frozen

from mnemic.adapters.system import forks
from mnemic.kernel.errors import StoreFailed, StoreHasTwoNames
from mnemic.kernel.values import Value

LINKED_S: Final = 0.5
"""How long a second link may exist: a finished copy has two names until the first is removed."""
STEP_S: Final = 0.01
FIRST: Final = 2**62
"""Offset of the first byte that a lock may be on; SQLite's own are below 2**31."""
KEY_BYTES: Final = 7
MOUNTED: Final = (
    "Open it by the name that the other process uses. Into a container, mount the folder of the "
    "file, not the file."
)

Inode = tuple[int, int]
"""Device and inode number."""


@define
class _OpenFile:
    descriptor: int | None
    """None: the system has no locks of this kind here."""
    key: int
    """Identifies the name under which this process has it open."""
    users: int = 1


@frozen(kw_only=True)
class HeldName(Value):
    """The registration of one open database."""

    inode: Inode | None
    """Of the file that has the name; None: there was none."""

    def release(self) -> None:
        """End it: all connections are closed. To be called once."""
        if self.inode is not None:
            _release(self.inode)


def hold(path: Path) -> HeldName:
    """Register that this process has the database at *path* open under this name.

    Raises:
        StoreHasTwoNames: It has several links, or is open under another name.
        StoreFailed: It was in use by another thread when this process was forked.
    """
    place = Path(os.path.realpath(path))
    try:
        inode, key = _single(place, path), _key(place)
    except FileNotFoundError:
        return HeldName(inode=None)  # what opens it reports that
    with _registry.lock:
        _registry.check_not_in_use(inode, path)
        known = _registry.files.get(inode)
        if known is None:
            _registry.files[inode] = _OpenFile(_locked(place, key, path), key)
        elif known.key != key:
            raise _open_elsewhere(path)
        else:
            known.users += 1
    return HeldName(inode=inode)


def check_single(links: int, path: Path) -> None:
    """Refuse a file that has *links* names.

    Raises:
        StoreHasTwoNames: There is more than one.
    """
    if links > 1:
        raise StoreHasTwoNames(
            f"{path} has {links} names (hard links), and commands written under one would be lost "
            "under another",
            recovery="Remove the other names (`find FOLDER -samefile FILE` lists them), or copy "
            "the file and open the copy.",
            path=str(path),
            links=links,
        )


def forbid(path: Path) -> None:
    """Refuse to open the file at *path* in this process, which inherited a connection in use."""
    with suppress(OSError):
        _registry.in_use.add(_inode(os.stat(os.path.realpath(path))))  # noqa: PTH116 - as below


class _Registry:
    """The databases that this process has open, by inode."""

    def __init__(self) -> None:
        self.lock = RLock()  # a fork holds it while it closes files
        self.files: dict[Inode, _OpenFile] = {}
        self.in_use: set[Inode] = set()
        """Those of which this process has inherited connections in the middle of their work."""
        forks.take_part(self)

    def check_not_in_use(self, inode: Inode, path: Path) -> None:
        """Refuse a file of which SQLite has inherited a connection in the middle of its work.

        SQLite takes the parent's locks for its own then.
        """
        if inode in self.in_use:
            raise StoreFailed(
                f"{path} was in use by another thread when this process was forked, and SQLite "
                "cannot open it here any more",
                recovery="Start the process with spawn, or fork while no operation is running.",
                path=str(path),
            )

    def before_fork(self) -> None:
        """Keep the registry unchanged during the fork."""
        self.lock.acquire()

    def after_fork(self, *, in_child: bool) -> None:
        """Close the descriptors in the child, where they are locks of the parent."""
        if in_child:
            for each in self.files.values():
                if each.descriptor is not None:
                    os.close(each.descriptor)
            self.files.clear()
        self.lock.release()


_registry = _Registry()


def _release(inode: Inode) -> None:
    with _registry.lock:
        known = _registry.files.get(inode)
        if known is None:
            return  # it is the parent's
        known.users -= 1
        if known.users == 0:
            del _registry.files[inode]
            if known.descriptor is not None:
                os.close(known.descriptor)


def _inode(status: os.stat_result) -> Inode:
    return status.st_dev, status.st_ino


def _single(place: Path, shown: Path) -> Inode:
    """Return the inode of a file, once it has one link."""
    deadline = time.monotonic() + LINKED_S
    while True:
        status = place.stat()
        if status.st_nlink <= 1 or time.monotonic() > deadline:
            check_single(status.st_nlink, shown)
            return _inode(status)
        time.sleep(STEP_S)


def _key(place: Path) -> int:
    """Return a number derived from the folder of a file and its name there."""
    folder = place.parent.stat()
    name = f"{folder.st_dev} {folder.st_ino} {place.name}".encode("utf-8", "surrogateescape")
    return int.from_bytes(blake2b(name, digest_size=KEY_BYTES).digest())


def _open_elsewhere(path: Path) -> StoreHasTwoNames:
    return StoreHasTwoNames(
        f"{path} is open under another name, and commands written under one would be lost under "
        "the other",
        recovery=MOUNTED,
        path=str(path),
    )


if sys.platform == "linux":
    import fcntl

    _LOCK: Final = struct.Struct("hhqqi0q")
    """``struct flock``: kind, whence, start, length, process."""

    def _locked(place: Path, key: int, shown: Path) -> int | None:
        """Return a descriptor that holds the lock for *key*; None: there are no locks here."""
        try:
            descriptor = os.open(place, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return None  # what opens it reports that
        try:
            own = _LOCK.pack(fcntl.F_RDLCK, os.SEEK_SET, FIRST + key, 1, 0)
            fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, own)
            is_elsewhere = any(
                _is_locked(descriptor, FIRST + start, length)
                for start, length in ((0, key), (key + 1, 256**KEY_BYTES - key - 1))
            )
        except OSError:  # a file system without them
            os.close(descriptor)
            return None
        if is_elsewhere:
            os.close(descriptor)
            raise _open_elsewhere(shown)
        return descriptor

    def _is_locked(descriptor: int, start: int, length: int) -> bool:
        """Return whether another process, or descriptor, holds a lock in a range."""
        if length == 0:  # which would be everything up to the end
            return False
        wanted = _LOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, start, length, 0)
        found: bytes = fcntl.fcntl(descriptor, fcntl.F_OFD_GETLK, wanted)
        return bool(_LOCK.unpack(found)[0] != fcntl.F_UNLCK)

else:

    def _locked(place: Path, key: int, shown: Path) -> int | None:  # noqa: ARG001
        """Return None: this system has no locks of open file descriptions."""
        return None
