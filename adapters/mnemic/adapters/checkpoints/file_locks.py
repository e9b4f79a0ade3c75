"""Locks on array files, and overwriting those whose text was erased.

A process that maps an array file has a shared lock on it for as long as it is mapped; the one that
makes it has an exclusive lock until a manifest names it. Systems without such locks (Windows) have
no mapped files: there every file is written and read as a whole.
"""

from __future__ import annotations

import mmap
import os
import weakref
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from io import BufferedReader
from pathlib import Path

from mnemic.adapters.system.folders import BINARY, NO_LINK

try:
    import fcntl
except ImportError:
    fcntl = None  # type: ignore[assignment]

MAPS = fcntl is not None
"""Whether array files are mapped, and extended in place, on this system."""
MARK = b"mnemicAR"
"""The beginning of an array file, until it is erased."""
THE_FILE_ITSELF = os.O_RDWR | NO_LINK | BINARY
"""How a file is opened that is to be overwritten: never the target of a link."""

_ZEROS = bytes(2**18)


def is_being_made(file: Path) -> bool:
    """Return whether a process is making the file; True if that cannot be found out."""
    try:
        descriptor = os.open(file, THE_FILE_ITSELF)
    except OSError:
        return True
    try:
        return not locked(descriptor, alone=False)
    finally:
        os.close(descriptor)


def locked(descriptor: int, *, alone: bool = True) -> bool:
    """Lock an open file unless another process prevents it; return whether it is locked.

    The lock lasts as long as the open file, mapped or not. Some file systems have no locks: there a
    mapped file is not locked, and none is overwritten.

    Args:
        descriptor: Of the file.
        alone: Whether the lock is exclusive; otherwise it is shared.
    """
    if fcntl is None:
        return True
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def write_at(descriptor: int, data: memoryview, offset: int) -> None:
    """Write all of *data* at a place of a file."""
    while data:
        if MAPS:
            count = os.pwrite(descriptor, data, offset)
        else:
            os.lseek(descriptor, offset, os.SEEK_SET)
            count = os.write(descriptor, data)
        data, offset = data[count:], offset + count


def whole(file: BufferedReader) -> mmap.mmap:
    """Return a private mapping of an array file opened by ``opened_to_map``.

    What is written to it reaches neither the file nor another process.

    Raises:
        OSError: It cannot be mapped.
    """
    found = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    weakref.finalize(found, _let_go, os.dup(file.fileno()), os.getpid())
    return found


def is_erased(descriptor: int) -> bool:
    """Return whether a file has lost its mark."""
    return os.pread(descriptor, len(MARK), 0) != MARK


def erase(descriptor: int) -> None:
    """Take away the mark of a file, and overwrite it unless another process maps it.

    Raises:
        OSError: It cannot be written.
    """
    write_at(descriptor, memoryview(bytes(len(MARK))), 0)
    if locked(descriptor):
        _overwrite(descriptor)


def _let_go(descriptor: int, process: int) -> None:
    """Overwrite a file that was erased while it was mapped here, unless it is mapped elsewhere."""
    with suppress(OSError):  # it may have been opened to be read only
        if process == os.getpid() and is_erased(descriptor):
            erase(descriptor)
    os.close(descriptor)


def _overwrite(descriptor: int) -> None:
    """Overwrite what a file has with zeros, leaving its holes."""
    for start, end in _written(descriptor):
        for place in range(start, end, len(_ZEROS)):
            write_at(descriptor, memoryview(_ZEROS)[: end - place], place)
    os.fsync(descriptor)


def _written(descriptor: int) -> Iterator[tuple[int, int]]:
    """Yield the ranges of a file that are not holes."""
    end, size = 0, os.fstat(descriptor).st_size
    if not hasattr(os, "SEEK_DATA"):
        yield 0, size
        return
    with suppress(OSError):  # nothing but a hole is left
        while end < size:
            start = os.lseek(descriptor, end, os.SEEK_DATA)
            end = os.lseek(descriptor, start, os.SEEK_HOLE)
            yield start, end


@contextmanager
def opened_to_write(file: Path) -> Generator[int | None]:
    """Open a file to extend it, with a shared lock, so that it is not overwritten meanwhile.

    None: it cannot be opened.
    """
    try:
        descriptor = os.open(file, THE_FILE_ITSELF)
    except OSError:
        yield None
        return
    try:
        locked(descriptor, alone=False)
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def opened_to_map(file: Path) -> Generator[BufferedReader]:
    """Open a file to map it; it can be overwritten later, if that is permitted.

    Raises:
        OSError: It cannot be read.
    """
    try:
        descriptor = os.open(file, THE_FILE_ITSELF)
    except PermissionError:
        descriptor = os.open(file, os.O_RDONLY | NO_LINK | BINARY)
    with os.fdopen(descriptor, "rb") as opened:
        locked(descriptor, alone=False)
        yield opened
