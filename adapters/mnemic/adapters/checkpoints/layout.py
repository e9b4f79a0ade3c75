"""The bytes of one checkpoint: a header with a manifest, then the arrays.

Rules of the layout:

1. ``magic, format, length of the manifest, seal``: 32 bytes. The seal is over the 16 bytes before
   it and the manifest behind it. That much holds for every format there will be.
2. The manifest is JSON, with spaces at its end. Parts follow in the order of their names, each at
   a multiple of 64; where it begins follows from the types and shapes of those before it.
3. Every part has one seal per started mebibyte, over its bytes and the padding behind them. So
   each byte of the file is under exactly one seal, and two threads can share one large part.
4. The file ends with the padding of its last part, to the byte.
5. Nothing is used before its seal has been checked, and nothing is ever unpickled: parts are
   plain numbers of known types.

A seal is BLAKE2b with 128 bits. Measured on 150 MB in two threads, reading included: CRC-32 0.04 s,
SHA-256 and BLAKE2b 0.09 s; SHA-256 takes three times that on a processor without instructions for
it, and CRC-32 detects only simple accidental changes, not all errors of a failing disk.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import blake2b
from io import BufferedReader
from math import prod
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import orjson
from attrs import asdict, fields_dict, frozen
from numpy.typing import NDArray

MAGIC = b"mnemicKP"
FORMAT = 1
HEAD = struct.Struct("<8sII")
SEAL_BYTES = 16
MANIFEST_AT = HEAD.size + SEAL_BYTES
ALIGNMENT = 64
"""A cache line: numpy computes fastest on arrays that begin at one."""
STRETCH = 2**20
"""Bytes under one seal: few enough to stay in a processor's cache between reading and sealing."""
THREADED_FROM = 8 * STRETCH
"""A smaller file is read before a second thread would have started."""
THREADS = 2

DTYPES = frozenset("|b1 |i1 |u1 <i2 <u2 <i4 <u4 <i8 <u8 <f4 <f8".split())
"""Types of parts, as numpy spells them. All of them are plain numbers."""


class Torn(Exception):
    """A checkpoint is damaged or incomplete. Internal to the adapter."""


class FormatUnknown(Exception):
    """A checkpoint is whole but of a format that this release cannot read. Internal too."""


class Vault(Protocol):
    """Encrypts whole files, for spaces whose text may not be stored as plain text."""

    def locked(self, pieces: Iterator[memoryview | bytes]) -> Iterator[bytes]:
        """Yield the encrypted file that holds *pieces*."""
        ...

    def opened(self, path: Path) -> BufferedReader:
        """Return a decrypting, seekable reader of a file; the caller closes it.

        Reading it raises ``Torn`` where it is damaged.

        Raises:
            Torn: It is no such file, or its key is not available.
            OSError: It cannot be read.
        """
        ...


@frozen(kw_only=True)
class Part:
    """Position and type of one array in the file."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    offset: int
    """In bytes from the beginning of the file."""
    length: int
    """In bytes, without padding."""
    seals: bytes
    """One after the other."""

    @property
    def end(self) -> int:
        """Where the next part begins."""
        return self.offset + _aligned(self.length)


@frozen(kw_only=True)
class Origin:
    """The log, version and code that a checkpoint was made from."""

    space: str
    genesis: str
    """Chain digest of the log's first event, hex."""
    version: int
    """The last version folded."""
    digest: str
    """Chain digest of the log as it ends with that version, hex."""
    active_us: int
    """The active time of that version."""
    fold: int
    """The fold that made it: ``mnemic.projections.state.state.FOLD_VERSION``."""
    release: str
    """The release that wrote it."""
    vocabulary: str = ""
    """Digest of the events and fields known to the release: see ``codec.vocabulary``."""
    payloads: int = -1
    """How many payloads were stored of the events folded; -1: an earlier release wrote it."""


@frozen(kw_only=True)
class Manifest:
    """Everything in a checkpoint but its arrays."""

    origin: Origin
    parts: tuple[Part, ...]
    size: int
    """Expected length of the file, in bytes."""


# --- writing ----------------------------------------------------------------------------------


def pieces(origin: Origin, parts: Mapping[str, NDArray[Any]]) -> Iterator[memoryview | bytes]:
    """Yield the file of a checkpoint, piece by piece, none longer than a mebibyte but the first.

    Raises:
        TypeError: A part does not consist of plain numbers.
    """
    arrays = {name: _little(name, parts[name]) for name in sorted(parts)}
    seals = {name: b"".join(map(_seal, _stretches(array))) for name, array in arrays.items()}
    yield _beginning(origin, arrays, seals)
    for array in arrays.values():
        yield from _stretches(array)


def _beginning(
    origin: Origin, arrays: Mapping[str, NDArray[Any]], seals: Mapping[str, bytes]
) -> bytes:
    """Return everything before the first part. Positions of parts follow from their shapes."""
    described = [
        {
            "name": name,
            "dtype": array.dtype.str,
            "shape": list(array.shape),
            "seals": seals[name].hex(),
        }
        for name, array in arrays.items()
    ]
    manifest = orjson.dumps({"origin": asdict(origin), "parts": described})
    manifest += b" " * (_aligned(MANIFEST_AT + len(manifest)) - MANIFEST_AT - len(manifest))
    head = HEAD.pack(MAGIC, FORMAT, len(manifest))
    return head + _seal(head + manifest) + manifest


def _little(name: str, part: NDArray[Any]) -> NDArray[Any]:
    array = np.asarray(part, order="C")
    array = array.astype(array.dtype.newbyteorder("<"), copy=False)
    if array.dtype.str not in DTYPES:
        raise TypeError(f"part {name!r} is of type {array.dtype}, which no checkpoint keeps")
    return array


def _stretches(array: NDArray[Any]) -> Iterator[memoryview | bytes]:
    """Yield the bytes of an array, and zeros up to where the next one begins."""
    stored = array.reshape(-1).view(np.uint8).data
    for start in range(0, len(stored), STRETCH):
        stretch = stored[start : start + STRETCH]
        missing = _aligned(len(stretch)) - len(stretch)
        yield stretch if not missing else bytes(stretch) + bytes(missing)


# --- reading ----------------------------------------------------------------------------------


def described(path: Path, vault: Vault | None = None) -> Manifest:
    """Return the manifest of a file, without reading its parts.

    Args:
        path: The file.
        vault: What encrypted it; None: it is not encrypted.

    Raises:
        Torn: It is no checkpoint, or its header is damaged, or its length is wrong.
        FormatUnknown: Another release wrote it.
        OSError: It cannot be read.
    """
    with _opened(path, vault) as file:
        return _described(file)


def loaded(path: Path, vault: Vault | None = None) -> tuple[Manifest, dict[str, NDArray[Any]]]:
    """Return the manifest and the parts of a file; every byte has been checked.

    The parts are read into memory, not mapped: an erasure in another process overwrites the file.
    Arguments as ``described``.

    Raises:
        Torn, FormatUnknown, OSError: As ``described``, or a part is damaged.
    """
    with _opened(path, vault) as file:
        manifest = _described(file)
        stored = {part.name: np.empty(part.end - part.offset, np.uint8) for part in manifest.parts}
        wanted = [(part, stored[part.name].data) for part in manifest.parts]
        _fill(file, wanted, threaded=vault is None)
    for array in stored.values():
        array.flags.writeable = False
    parts = {
        part.name: stored[part.name][: part.length].view(part.dtype).reshape(part.shape)
        for part in manifest.parts
    }
    return manifest, parts


def _opened(path: Path, vault: Vault | None) -> BufferedReader:
    return path.open("rb") if vault is None else vault.opened(path)


def _described(file: BufferedReader) -> Manifest:
    length = file.seek(0, os.SEEK_END)
    file.seek(0)
    head, seal = file.read(HEAD.size), file.read(SEAL_BYTES)
    if len(seal) < SEAL_BYTES:
        raise Torn("it ends within its head")
    magic, layout, stated = HEAD.unpack(head)
    if magic != MAGIC:
        raise Torn("it does not begin as a checkpoint does")
    stored = file.read(min(stated, length))
    if _seal(head + stored) != seal or len(stored) != stated:
        raise Torn("its manifest is damaged")
    if layout != FORMAT:
        raise FormatUnknown(f"it has format {layout}; this release knows {FORMAT}")
    manifest = _read(stored)
    if manifest.size != length:
        raise Torn(f"it has {length} bytes instead of {manifest.size}")
    return manifest


def _read(stored: bytes) -> Manifest:
    """Return the manifest in *stored*, whose seal has been checked."""
    place = MANIFEST_AT + len(stored)
    parts: list[Part] = []
    try:
        document = orjson.loads(stored)
        for each in document["parts"]:
            parts.append(_part(each, place))
            place = parts[-1].end
        unknown = {*document["origin"]} - {*fields_dict(Origin)}
        if unknown:
            raise FormatUnknown(f"its manifest has {', '.join(sorted(unknown))}, which is newer")
        return Manifest(origin=Origin(**document["origin"]), parts=tuple(parts), size=place)
    except (ValueError, TypeError, KeyError) as error:
        raise Torn(f"its manifest is not valid: {error}") from error


def _part(described: Mapping[str, Any], offset: int) -> Part:
    shape = tuple(described["shape"])
    if described["dtype"] not in DTYPES or any(type(n) is not int or n < 0 for n in shape):
        raise ValueError(f"part {described['name']!r} is no array of plain numbers")
    return Part(
        name=described["name"],
        dtype=described["dtype"],
        shape=shape,
        offset=offset,
        length=prod(shape) * np.dtype(described["dtype"]).itemsize,
        seals=bytes.fromhex(described["seals"]),
    )


def _fill(
    file: BufferedReader, wanted: Sequence[tuple[Part, memoryview]], *, threaded: bool
) -> None:
    """Read the parts into their buffers and check each seal.

    Args:
        file: From its beginning on.
        wanted: The parts, and where each goes.
        threaded: Whether several threads may read it at once.

    Raises:
        Torn: One does not match its seal.
    """
    jobs = [
        (part, buffer[start : start + STRETCH], start)
        for part, buffer in wanted
        for start in range(0, len(buffer), STRETCH)
    ]
    is_small = sum(len(buffer) for _, buffer in wanted) < THREADED_FROM
    if is_small or not (threaded and hasattr(os, "preadv")):
        for part, buffer, start in jobs:
            file.seek(part.offset + start)
            _check(part, buffer, start, file.readinto(buffer))
        return

    def work(job: tuple[Part, memoryview, int]) -> None:
        part, buffer, start = job
        read = os.preadv(file.fileno(), [buffer], part.offset + start)
        _check(part, buffer, start, read)

    with ThreadPoolExecutor(THREADS) as threads:
        for _ in threads.map(work, jobs):
            pass


def _check(part: Part, buffer: memoryview, start: int, read: int) -> None:
    place = start // STRETCH * SEAL_BYTES
    if read != len(buffer) or part.seals[place : place + SEAL_BYTES] != _seal(buffer):
        raise Torn(f"part {part.name!r} is damaged")


def _seal(data: bytes | memoryview) -> bytes:
    return blake2b(data, digest_size=SEAL_BYTES).digest()


def _aligned(length: int) -> int:
    return -(-length // ALIGNMENT) * ALIGNMENT
