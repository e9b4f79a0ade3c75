"""The bytes of one checkpoint: a manifest, which names an array file and what is where in it.

Rules of the layout:

1. ``magic, format, length of the manifest, seal``: 32 bytes. The seal is over the 16 bytes before
   it and the manifest behind it. That much holds for every format there will be.
2. The manifest is JSON: the origin, the name of the array file, and the parts by ascending name.
   The file ends with it, to the byte. It is written atomically, after the arrays.
3. Every byte of a part is under exactly one seal: see ``array_file``.
4. Nothing is used before its seal has been checked, and nothing is ever unpickled: parts are
   plain numbers of known types.

The seal of a manifest is BLAKE2b with 128 bits.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from io import BufferedReader, BytesIO
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import orjson
from attrs import asdict, fields_dict, frozen
from numpy.typing import NDArray

from mnemic.adapters.checkpoints import array_file
from mnemic.adapters.checkpoints.array_file import DTYPES, STRETCH, Contents, Part, Torn
from mnemic.adapters.checkpoints.file_locks import MAPS, opened_to_map
from mnemic.kernel.values import Value

MAGIC = b"mnemicKP"
FORMAT = 2
HEAD = struct.Struct("<8sII")
SEAL_BYTES = 16
MANIFEST_AT = HEAD.size + SEAL_BYTES


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

    def decrypted(self, file: BinaryIO) -> BufferedReader:
        """Return a decrypting reader of an open file, as ``opened`` does."""
        ...


@frozen(kw_only=True)
class Origin(Value):
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
class Manifest(Value):
    """Everything in a checkpoint but its arrays."""

    origin: Origin
    arrays: str
    """Name of the array file, in the same folder."""
    contents: Contents


def pieces(manifest: Manifest) -> Iterator[memoryview | bytes]:
    """Yield the bytes of a manifest."""
    described = [
        {
            "name": part.name,
            "dtype": part.dtype,
            "shape": list(part.shape),
            "offset": part.offset,
            "room": part.room,
            "seals": part.seals.hex(),
        }
        for part in manifest.contents.parts
    ]
    stored = orjson.dumps(
        {
            "origin": asdict(manifest.origin),
            "arrays": manifest.arrays,
            "end": manifest.contents.end,
            "parts": described,
        }
    )
    head = HEAD.pack(MAGIC, FORMAT, len(stored))
    yield head + seal_of(head + stored) + stored


def described(path: Path, vault: Vault | None = None) -> Manifest:
    """Return the manifest in a file, without reading the arrays.

    Args:
        path: The file.
        vault: What encrypted it; None: it is not encrypted.

    Raises:
        Torn: It is no checkpoint, or it is damaged, or its array file is missing.
        FormatUnknown: Another release wrote it.
        OSError: It cannot be read.
    """
    with _opened(path, vault) as file:
        manifest = _manifest_in(file)
    if not path.with_name(manifest.arrays).is_file():
        raise Torn(f"its array file {manifest.arrays} is missing")
    return manifest


def manifest_of(stored: bytes, vault: Vault | None = None) -> Manifest:
    """Return the manifest in the bytes of a file; arguments and errors as ``described``."""
    plain = BytesIO(stored)
    with plain if vault is None else vault.decrypted(plain) as file:
        return _manifest_in(file)


def _manifest_in(file: BinaryIO) -> Manifest:
    length = file.seek(0, os.SEEK_END)
    file.seek(0)
    head, seal = file.read(HEAD.size), file.read(SEAL_BYTES)
    if len(seal) < SEAL_BYTES:
        raise Torn("it ends within its head")
    magic, layout, stated = HEAD.unpack(head)
    if magic != MAGIC:
        raise Torn("it does not begin as a checkpoint does")
    stored = file.read(min(stated, length))
    if seal_of(head + stored) != seal or len(stored) != stated:
        raise Torn("its manifest is damaged")
    if layout != FORMAT:
        raise FormatUnknown(f"it has format {layout}; this release knows {FORMAT}")
    if length != MANIFEST_AT + stated:
        raise Torn(f"it has {length} bytes instead of {MANIFEST_AT + stated}")
    return _read(stored)


def checked(path: Path, vault: Vault | None = None) -> Manifest:
    """Return the manifest in a file; every byte of its arrays has been checked.

    Arguments and errors as ``described``.

    Raises:
        Torn: A part is damaged.
    """
    manifest = described(path, vault)
    with _opened(path.with_name(manifest.arrays), vault) as file:
        array_file.checked(file, manifest.contents, threaded=vault is None)
    return manifest


def loaded(path: Path, manifest: Manifest, vault: Vault | None = None) -> dict[str, NDArray[Any]]:
    """Return the arrays that the manifest in a file names; every byte has been checked.

    Arrays are mapped where that is possible, and read otherwise.

    Args:
        path: The file.
        manifest: Result of ``described``.
        vault: As for ``described``.

    Raises:
        Torn: A part is damaged, or the array file was removed or erased meanwhile.
        OSError: It cannot be read.
    """
    place, contents = path.with_name(manifest.arrays), manifest.contents
    if vault is not None or not MAPS:
        with _opened(place, vault) as file:
            return array_file.loaded(file, contents)
    with opened_to_map(place) as file:
        array_file.checked(file, contents, threaded=True)
        return array_file.mapped(file, contents)


def _opened(path: Path, vault: Vault | None) -> BufferedReader:
    return path.open("rb") if vault is None else vault.opened(path)


def _read(stored: bytes) -> Manifest:
    """Return the manifest in *stored*, whose seal has been checked."""
    try:
        document = orjson.loads(stored)
        parts = tuple(map(_part, document["parts"]))
        unknown = {*document["origin"]} - {*fields_dict(Origin)}
        if unknown:
            raise FormatUnknown(f"its manifest has {', '.join(sorted(unknown))}, which is newer")
        return Manifest(
            origin=Origin(**document["origin"]),
            arrays=Path(document["arrays"]).name,
            contents=Contents(parts=parts, end=int(document["end"])),
        )
    except (ValueError, TypeError, KeyError) as error:
        raise Torn(f"its manifest is not valid: {error}") from error


def _part(described: Mapping[str, Any]) -> Part:
    shape = tuple(described["shape"])
    numbers = (*shape, described["offset"], described["room"])
    if described["dtype"] not in DTYPES or any(type(n) is not int or n < 0 for n in numbers):
        raise ValueError(f"part {described['name']!r} is no array of plain numbers")
    part = Part(
        name=described["name"],
        dtype=described["dtype"],
        shape=shape,
        offset=described["offset"],
        room=described["room"],
        seals=bytes.fromhex(described["seals"]),
    )
    if len(part.seals) != -(-part.length // STRETCH) * array_file.SEAL_BYTES:
        raise ValueError(f"part {part.name!r} has another number of seals")
    return part


def seal_of(data: bytes | memoryview) -> bytes:
    """Return the digest by which a damaged manifest is noticed."""
    return blake2b(data, digest_size=SEAL_BYTES).digest()
