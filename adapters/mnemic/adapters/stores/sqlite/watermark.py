"""Durability watermarks in the lock file of a database, which show when a log has lost its tail.

SQLite ignores everything in a write-ahead log from its first bad frame on: what is left ends
earlier and is perfectly sound. The loss shows only if the earlier end is known from elsewhere.

Rules of this module:

1. A slot is written after the commit that it records, and never before: a kill or a power cut
   leaves it behind the log. It is not synced to the disk, and no append fails because of it.
2. A slot that is torn, or was written for another file, is ignored. No file, no slot: nothing is
   known, and nothing is wrong.
3. What was promised through a killed process only (``normal``) is checked until the machine
   restarts, and no longer.
4. Slots are never lowered: a log never gets shorter, and a staged one has no slot yet.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from struct import Struct
from threading import Lock
from typing import Final
from uuid import UUID
from zlib import crc32

from attrs import frozen

from mnemic.adapters.stores.logs.write_lock import lock_file
from mnemic.adapters.stores.sqlite.connections import Synchronous
from mnemic.adapters.system import forks
from mnemic.adapters.system.folders import BINARY, NO_LINK, made_like
from mnemic.kernel.ports import Head
from mnemic.kernel.values import Value

SLOT_BYTES: Final = 128
"""Divides a disk's sector and a page, so that no slot spans two of them."""
SPACES_MAX: Final = 2**20
"""Slots that a file may have; spaces with higher numbers have none. 128 MB, holes included."""
MAGIC: Final = b"mnh1"
INODE_MAX: Final = 2**64 - 1
"""Inodes are cut to their last 64 bits; some file systems have longer ones."""
_SEAL = Struct("<4sI")
_BODY = Struct("<QQ32s32s16sQ16x")
_FOR_GOOD = bytes(16)
_STARTS = Path("/proc/sys/kernel/random/boot_id")


@frozen(kw_only=True)
class Origin(Value):
    """What distinguishes a log from others with its number in a file of the same name."""

    genesis: bytes
    """Chain digest of its first event."""
    inode: int
    """Inode of the database file that held it."""


@frozen(kw_only=True)
class DurabilityWatermark(Value):
    """How far one log was acknowledged."""

    space: int
    """Its number in the tables."""
    head: Head
    """Where it ended then."""
    origin: Origin


class Watermarks:
    """The slots of one database file.

    Args:
        database: The file, with links resolved.
        synchronous: The durability promised for what is recorded here.
        read_only: Never write.
    """

    def __init__(self, database: Path, *, synchronous: Synchronous, read_only: bool) -> None:
        self.path = lock_file(database)
        self._database = database
        self._read_only = read_only
        self._start = _FOR_GOOD if synchronous == "full" else this_start()
        self._guard = Lock()
        self._descriptor: int | None = None
        self._is_closed = False
        forks.take_part(self)
        self._kept: bytes | None = None
        """All slots as they were at one moment, if later ones are to be ignored."""

    def of(self, space: int) -> DurabilityWatermark | None:
        """Return how far the log of *space* was acknowledged, if that is known.

        To compare, read this first, and then where the log ends: by then it is that far.
        """
        data = self._read(space * SLOT_BYTES, SLOT_BYTES) if 0 < space < SPACES_MAX else b""
        return _acknowledged(data, space)

    def behind(self, space: int) -> Iterator[DurabilityWatermark]:
        """Yield what is known of spaces with a higher number than *space*."""
        data = self._read((space + 1) * SLOT_BYTES, SPACES_MAX * SLOT_BYTES)
        for number, start in enumerate(range(0, len(data), SLOT_BYTES), start=space + 1):
            found = _acknowledged(data[start : start + SLOT_BYTES], number)
            if found is not None:
                yield found

    def note(self, space: int, head: Head, origin: Origin) -> None:
        """Record how far a log has been acknowledged. Failures to write are ignored.

        Every append does this, so each microsecond counts.
        """
        start = self._start
        if self._read_only or start is None or not 0 < space < SPACES_MAX:
            return
        body = _BODY.pack(space, head.version, head.digest, origin.genesis, start, origin.inode)
        with self._guard:  # otherwise the descriptor could be closed, and given to another file
            try:
                descriptor = self._descriptor or self._opened()
                if descriptor is not None:
                    _write(descriptor, _SEAL.pack(MAGIC, crc32(body)) + body, space * SLOT_BYTES)
            except OSError:
                pass

    def forget(self) -> None:
        """Delete all slots."""
        forget(self._database)

    def hold(self) -> None:
        """Ignore all later writes: the file is read as it is now."""
        self._kept = self._read(0, SPACES_MAX * SLOT_BYTES)
        self.close()

    def before_fork(self) -> None:
        """Do nothing: only the child gives the file up."""

    def after_fork(self, *, in_child: bool) -> None:
        """Close the file in the child; a thread of the parent may have been using it."""
        if in_child:
            self._guard = Lock()
            self.close()

    def close(self) -> None:
        """Close the file; it stays on the disk."""
        with self._guard:
            self._is_closed = True
            if self._descriptor is not None:
                os.close(self._descriptor)
                self._descriptor = None

    def _read(self, offset: int, size: int) -> bytes:
        if self._kept is not None:
            return self._kept[offset : offset + size]
        with self._guard:
            try:
                self._let_go()
                descriptor = self._opened(making=False)
                if descriptor is None:
                    return b""
                if size > SLOT_BYTES:
                    size = max(0, min(size, os.fstat(descriptor).st_size - offset))
                return _read(descriptor, size, offset)
            except OSError:
                return b""

    def _let_go(self) -> None:
        """Close a file that was deleted, as a recovery message tells users to do. Guarded."""
        if self._descriptor is not None and not _stands(self._descriptor, self.path):
            os.close(self._descriptor)
            self._descriptor = None

    def _opened(self, *, making: bool = True) -> int | None:
        """Return the descriptor; None: the store is closed, or there is no file. Guarded."""
        if self._descriptor is None and not self._is_closed:
            if self._read_only:
                self._descriptor = os.open(self.path, os.O_RDONLY | NO_LINK | BINARY)
            elif making:
                self._descriptor = made_like(self.path, of=self._database)
            else:
                self._descriptor = os.open(self.path, os.O_RDWR | NO_LINK | BINARY)
        return self._descriptor


def forget(database: Path) -> None:
    """Delete the slots of a file: they are of another one that had its name before."""
    path = lock_file(database)
    with suppress(OSError):
        descriptor = os.open(path, os.O_WRONLY | NO_LINK | BINARY)
        try:
            os.ftruncate(descriptor, 0)  # not removed: another process may have it open
        finally:
            os.close(descriptor)


def _stands(descriptor: int, path: Path) -> bool:
    """Return whether an open file is still the one that *path* names."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


@cache
def this_start() -> bytes | None:
    """Return what identifies this boot of the machine; None: it is not known."""
    try:
        return UUID(_STARTS.read_text("ascii").strip()).bytes
    except (OSError, ValueError):
        return None


def _acknowledged(data: bytes, space: int) -> DurabilityWatermark | None:
    """Return the content of a slot, if it is whole, of that space, and still valid."""
    body = data[_SEAL.size :]
    if len(data) != SLOT_BYTES or _SEAL.unpack_from(data) != (MAGIC, crc32(body)):
        return None
    number, version, digest, genesis, start, inode = _BODY.unpack(body)
    if number != space or start not in {_FOR_GOOD, this_start()}:
        return None
    origin = Origin(genesis=genesis, inode=inode)
    return DurabilityWatermark(space=space, head=Head(version, digest), origin=origin)


if sys.platform == "win32":  # which lacks reads and writes at an offset

    def _read(descriptor: int, size: int, offset: int) -> bytes:
        with _SEEKING:
            os.lseek(descriptor, offset, os.SEEK_SET)
            return os.read(descriptor, size)

    def _write(descriptor: int, data: bytes, offset: int) -> None:
        with _SEEKING:
            os.lseek(descriptor, offset, os.SEEK_SET)
            os.write(descriptor, data)

    _SEEKING = Lock()

else:

    def _read(descriptor: int, size: int, offset: int) -> bytes:
        return os.pread(descriptor, size, offset)

    def _write(descriptor: int, data: bytes, offset: int) -> None:
        os.pwrite(descriptor, data, offset)
