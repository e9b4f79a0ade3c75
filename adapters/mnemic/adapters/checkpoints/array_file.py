"""The array file of checkpoints: named arrays, each contiguous, that grows in place.

Rules of this file:

1. It begins with a mark, which an erasure takes away. Where each array is, and the seals of its
   bytes, is in the manifest of a checkpoint; several manifests may name one array file.
2. What a manifest names is never written again. Values appended to an array go into the room
   behind it, which is a hole and takes no disk space until then. A process that maps the file
   appends to its arrays in the same room, in private memory: nothing is copied for that.
3. An array that changed otherwise, or has outgrown its room, is written anew behind all others.
   When more of the file is obsolete than not, the next checkpoint begins another file: so at most
   twice as much is written as changed.
4. Arrays are mapped where that is possible, and read where they are. A process that maps the file
   has a shared lock on it, the one that makes it an exclusive one until a manifest names it.
5. A file whose text was erased is overwritten by the process that removes it, unless another maps
   it: zeros must not appear in the middle of a recall. Then the last one overwrites it that lets go
   of it, at the latest when it exits; of a process that is killed, the system frees the space.

A seal is a CRC-32 of a quarter of a mebibyte. All of them are checked before an array is used: a
million events take 0.04 s in two threads, where SHA-256 would take three times and BLAKE2b six
times that. Like any digest beside the data, they find damage and no forgery.
"""

from __future__ import annotations

import mmap
import os
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from io import BufferedReader
from itertools import repeat
from math import prod
from typing import Any
from zlib import crc32

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from mnemic.adapters.checkpoints.file_locks import MARK, is_erased, whole, write_at
from mnemic.kernel.values import Value
from mnemic.projections.storage.mapped_arrays import lend_room, take_room_back

HEAD_BYTES = 64
ALIGNMENT = 64
"""A cache line: numpy computes fastest on arrays that begin at one."""
SEAL_BYTES = 4
STRETCH = 2**18
"""Bytes under one seal: few enough to stay in a processor's cache between reading and sealing."""
ROOM_SHARE = 2
"""The room behind an array is this part of its length."""
THREADED_FROM = 32 * STRETCH
"""A smaller file is read before a second thread would have started."""
THREADS = 2

DTYPES = frozenset("|b1 |i1 |u1 <i2 <u2 <i4 <u4 <i8 <u8 <f4 <f8".split())
"""Types of arrays, as numpy spells them. All of them are plain numbers."""

Bytes = NDArray[np.uint8]


class Torn(Exception):
    """A checkpoint is damaged or incomplete. Internal to the adapter."""


@frozen(kw_only=True)
class Part(Value):
    """Place and type of one array in the file."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    offset: int
    """In bytes from the beginning of the file."""
    room: int
    """Bytes from there on that belong to this array alone."""
    seals: bytes
    """One after the other."""

    @property
    def length(self) -> int:
        """Bytes that the array takes now."""
        return prod(self.shape) * np.dtype(self.dtype).itemsize


@frozen(kw_only=True)
class Contents(Value):
    """What an array file has at one checkpoint."""

    parts: tuple[Part, ...]
    end: int
    """Where the next array goes, in bytes."""

    @property
    def length(self) -> int:
        """Bytes of all arrays, without room and what is obsolete."""
        return sum(part.length for part in self.parts)


# --- layout -----------------------------------------------------------------------------------


@frozen
class _Write(Value):
    """An array, and what of it has to be written."""

    part: Part
    stored: Bytes
    first: int
    """Bytes at its beginning that are in the file already."""


def plain(parts: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return the parts by ascending name, in the byte order and layout of a file.

    Raises:
        TypeError: One does not consist of plain numbers.
    """
    found: dict[str, NDArray[Any]] = {}
    for name in sorted(parts):
        array = np.asarray(parts[name], order="C")
        array = array.astype(array.dtype.newbyteorder("<"), copy=False)
        if array.dtype.str not in DTYPES:
            raise TypeError(f"part {name!r} is of type {array.dtype}, which no checkpoint keeps")
        found[name] = array
    return found


def _planned(
    arrays: Mapping[str, NDArray[Any]],
    *,
    before: Contents | None = None,
    written: mmap.mmap | None = None,
    room_share: int = ROOM_SHARE,
) -> tuple[list[_Write], int]:
    """Return what has to be written, and where the file ends then.

    Args:
        arrays: Result of ``plain``.
        before: What the file has; None: it is new.
        written: Its bytes.
        room_share: As ``ROOM_SHARE``; 0: no room.
    """
    known = {} if before is None else {part.name: part for part in before.parts}
    end = HEAD_BYTES if before is None else before.end
    writes: list[_Write] = []
    for name, array in arrays.items():
        stored: Bytes = array.reshape(-1).view(np.uint8)
        old = known.get(name)
        if old is not None and written is not None and _continues(old, array, stored, written):
            offset, room, first = old.offset, old.room, old.length
            kept = old.seals[: first // STRETCH * SEAL_BYTES]
        else:
            spare = len(stored) // room_share if room_share else 0
            offset, room, first, kept = end, _aligned(len(stored) + spare), 0, b""
            end += room
        late = _stretches(stored[len(kept) // SEAL_BYTES * STRETCH :])
        part = Part(
            name=name,
            dtype=array.dtype.str,
            shape=array.shape,
            offset=offset,
            room=room,
            seals=kept + b"".join(_seal(stretch.data) for stretch in late),
        )
        writes.append(_Write(part, stored, first))
    return writes, end


def _continues(old: Part, array: NDArray[Any], stored: Bytes, written: mmap.mmap) -> bool:
    """Return whether an array begins with what is in the file, and the rest has room there."""
    if old.dtype != array.dtype.str or old.shape[1:] != array.shape[1:]:
        return False
    if not old.length <= len(stored) <= old.room or len(old.shape) != array.ndim:
        return False
    if not old.length:
        return True
    first = np.frombuffer(written, np.uint8, old.length, old.offset)
    pairs = zip(_stretches(first), _stretches(stored[: old.length]), strict=True)
    return all(_equal(one, other) for one, other in pairs)


def _equal(one: Bytes, other: Bytes) -> bool:
    words = len(one) // 8 * 8
    if other.ctypes.data % 8 or one.ctypes.data % 8:  # an array that is itself a view of bytes
        return np.array_equal(one, other)
    same = np.array_equal(one[:words].view(np.uint64), other[:words].view(np.uint64))
    return same and np.array_equal(one[words:], other[words:])


def _stretches(stored: Bytes) -> Iterator[Bytes]:
    for start in range(0, len(stored), STRETCH):
        yield stored[start : start + STRETCH]


def _seal(data: memoryview) -> bytes:
    return crc32(data).to_bytes(SEAL_BYTES, "little")


def _aligned(length: int) -> int:
    return -(-length // ALIGNMENT) * ALIGNMENT


def _contents(writes: Sequence[_Write], end: int) -> Contents:
    return Contents(parts=tuple(write.part for write in writes), end=end)


# --- writing ----------------------------------------------------------------------------------


def sequential(
    arrays: Mapping[str, NDArray[Any]],
) -> tuple[Contents, Iterator[memoryview | bytes]]:
    """Return the contents of a new file without room, and its bytes one after the other.

    Args:
        arrays: Result of ``plain``.
    """
    writes, end = _planned(arrays, room_share=0)

    def pieces() -> Iterator[memoryview | bytes]:
        yield MARK.ljust(HEAD_BYTES, b"\0")
        for write in writes:
            yield from (stretch.data for stretch in _stretches(write.stored))
            yield bytes(write.part.room - write.part.length)

    return _contents(writes, end), pieces()


def begun(
    descriptor: int, arrays: Mapping[str, NDArray[Any]], *, check: Callable[[], None]
) -> Contents:
    """Write the arrays to a new file.

    Args:
        descriptor: Of the file, which is empty.
        arrays: Result of ``plain``.
        check: Called between writes; raises where the checkpoint is obsolete.

    Raises:
        OSError: The disk is full, ...
    """
    write_at(descriptor, memoryview(MARK), 0)
    writes, end = _planned(arrays)
    return _carried_out(descriptor, writes, end, check)


def extended(
    descriptor: int,
    before: Contents,
    arrays: Mapping[str, NDArray[Any]],
    *,
    check: Callable[[], None],
) -> Contents | None:
    """Write what *before* lacks; None: a new file is better.

    Arguments as ``begun``; the file is the one of *before*.

    Raises:
        OSError: The disk is full, ...
    """
    size = os.fstat(descriptor).st_size
    if any(part.offset + part.length > size for part in before.parts):
        return None
    written = mmap.mmap(descriptor, size, access=mmap.ACCESS_READ)
    writes, end = _planned(arrays, before=before, written=written)
    del written
    if end - HEAD_BYTES > 2 * sum(write.part.room for write in writes):
        return None
    return _carried_out(descriptor, writes, end, check)


def _carried_out(
    descriptor: int, writes: Sequence[_Write], end: int, check: Callable[[], None]
) -> Contents:
    for write in writes:
        for start in range(write.first, len(write.stored), STRETCH):
            check()
            stretch = write.stored[start : start + STRETCH].data
            write_at(descriptor, stretch, write.part.offset + start)
    if os.fstat(descriptor).st_size < end:
        os.ftruncate(descriptor, end)  # so that the last room can be mapped, too
    os.fsync(descriptor)
    return _contents(writes, end)


# --- reading ----------------------------------------------------------------------------------


Read = Callable[[memoryview, int], int]
"""Reads a file into a buffer from a place on, and returns how many bytes there were."""


def checked(file: BufferedReader, contents: Contents, *, threaded: bool) -> None:
    """Read every array and check its seals, a stretch at a time.

    Args:
        file: From its beginning on.
        contents: What it should have.
        threaded: Whether several threads may read it at once.

    Raises:
        Torn: Something does not match.
        OSError: It cannot be read.
    """
    if threaded and contents.length >= THREADED_FROM and hasattr(os, "preadv"):
        from concurrent.futures import ThreadPoolExecutor

        descriptor = file.fileno()

        def read_at(piece: memoryview, place: int) -> int:
            return os.preadv(descriptor, [piece], place)

        with ThreadPoolExecutor(THREADS) as threads:
            deque(threads.map(_read_part, contents.parts, repeat(read_at)), maxlen=0)
        return
    for part in contents.parts:
        _read_part(part, _reader(file))


def loaded(file: BufferedReader, contents: Contents) -> dict[str, NDArray[Any]]:
    """Return the arrays of a file, read into memory; arguments and errors as ``checked``."""
    found: dict[str, NDArray[Any]] = {}
    for part in contents.parts:
        stored = np.empty(part.length, np.uint8)
        _read_part(part, _reader(file), stored.data)
        stored.flags.writeable = False
        found[part.name] = stored.view(part.dtype).reshape(part.shape)
    return found


def _reader(file: BufferedReader) -> Read:
    """Return what reads a file by its own position."""

    def read(piece: memoryview, place: int) -> int:
        file.seek(place)
        return file.readinto(piece)

    return read


def _read_part(part: Part, read: Read, into: memoryview | None = None) -> None:
    """Read an array stretch by stretch and check the seal of each.

    Args:
        part: The array.
        read: Reads the file.
        into: Where its bytes go; None: nowhere, they are only checked.

    Raises:
        Torn: A stretch does not match its seal.
    """
    buffer = memoryview(bytearray(min(STRETCH, part.length))) if into is None else into
    for start in range(0, part.length, STRETCH):
        first = 0 if into is None else start
        piece = buffer[first : first + min(STRETCH, part.length - start)]
        place = start // STRETCH * SEAL_BYTES
        is_whole = read(piece, part.offset + start) == len(piece)
        if not is_whole or part.seals[place : place + SEAL_BYTES] != _seal(piece):
            raise Torn(f"part {part.name!r} is damaged")


def mapped(file: BufferedReader, contents: Contents) -> dict[str, NDArray[Any]]:
    """Return the arrays of a file where they are; its seals have been checked before.

    Raises:
        Torn: The file was removed or erased meanwhile.
        OSError: It cannot be mapped.
    """
    if is_erased(file.fileno()):
        raise Torn("it was erased")
    mapping = whole(file)
    stored, alive = np.frombuffer(mapping, np.uint8), weakref.ref(mapping)
    found: dict[str, NDArray[Any]] = {}
    lent: list[int] = []
    for part in contents.parts:
        array = stored[part.offset :][: part.length].view(part.dtype).reshape(part.shape)
        array.flags.writeable = False
        found[part.name] = array
        if part.length < part.room <= len(stored) - part.offset:
            lent.append(lend_room(array, partial(_room, alive, part)))
    weakref.finalize(mapping, take_room_back, lent).atexit = False
    return found


def _room(alive: weakref.ref[mmap.mmap], part: Part) -> Bytes | None:
    """Return the bytes that belong to a part of a mapped file; None: it is not mapped any more."""
    mapping = alive()
    return None if mapping is None else np.frombuffer(mapping, np.uint8, part.room, part.offset)
