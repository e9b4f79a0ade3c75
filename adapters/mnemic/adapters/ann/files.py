"""The files of graphs: named, written atomically, and verified.

``<space>-<mark>-r<first>-<end>-<digest>.graph``, the digest being of the vectors that the graph
was built over. A graph of other vectors has another name, so that the two cannot be confused.
Inside: ``magic, seal``, and under the seal the file's name and ``length of the manifest, manifest,
arrays``. Nothing is used before the seal has been checked: neither a damaged file, nor one that was
given the name of another. Nothing is unpickled, and no file holds a vector.
"""

from __future__ import annotations

import os
import re
import struct
import time
from collections.abc import Iterable
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from mnemic.adapters.ann.hnsw import (
    CARE,
    LINKS,
    SEED,
    Misfit,
    Unwanted,
)
from mnemic.adapters.checkpoints.directory import CheckpointDirectory
from mnemic.adapters.system.folders import (
    draft,
    make,
    own_name,
    sync,
)
from mnemic.projections.retrieval.approximate_search import Span
from mnemic.projections.storage.array_bundle import ArrayBundle
from mnemic.projections.vectors.local_rows import Stored

ENDING = ".graph"
UNFINISHED = ".tmp"
MAGIC = b"mnemicNN"
FORMAT = 2
SEAL_BYTES = 32
LENGTH = struct.Struct("<I")
DIGEST_BYTES = 16
DTYPES = frozenset({"|u1", "<i4"})
ABANDONED_S = 3600
"""Age after which an unfinished file counts as abandoned."""

_SPAN = re.compile(r"-r([0-9]{10})-([0-9]{10})-[0-9a-f]+\.graph$")


class GraphFolder:
    """The graphs of one space, in a folder that others may share.

    Args:
        checkpoint_directory: The folder and its permissions. Made with the first graph.
        space: The space's name.
        genesis: Chain digest of the log's first event.
    """

    def __init__(
        self, checkpoint_directory: CheckpointDirectory, *, space: str, genesis: bytes
    ) -> None:
        self.path = checkpoint_directory.path
        self._checkpoint_directory = checkpoint_directory
        self.reads, self.writes, self.destroys = (
            checkpoint_directory.reads,
            checkpoint_directory.writes,
            checkpoint_directory.destroys,
        )
        self._prefix = f"{own_name(space, genesis)}-r"

    def place(self, span: Span, rows: Stored) -> Path:
        """Return the path of the graph of *rows*."""
        settings = f"{FORMAT} {rows.shape} {LINKS} {CARE} {SEED}".encode()
        digest = blake2b(settings, digest_size=DIGEST_BYTES)
        for start in range(0, len(rows), 4096):
            digest.update(rows[start : start + 4096].astype("<i2", copy=False).tobytes())
        name = f"{self._prefix}{span.first:010d}-{span.end:010d}-{digest.hexdigest()}{ENDING}"
        return self.path / name

    def read(self, place: Path) -> ArrayBundle | None:
        """Return the content of a file; None if there is no such file.

        Raises:
            Misfit: It is damaged.
            OSError: It cannot be read.
        """
        try:
            stored = place.read_bytes()
        except FileNotFoundError:
            return None
        body = memoryview(stored)[len(MAGIC) + SEAL_BYTES :]
        if stored[: len(MAGIC) + SEAL_BYTES] != MAGIC + _seal(place, [body]):
            raise Misfit(f"{place.name} is damaged")
        (length,) = LENGTH.unpack(body[: LENGTH.size])
        rest = body[LENGTH.size + length :]
        parts: ArrayBundle = {}
        for name, dtype, shape in orjson.loads(body[LENGTH.size : LENGTH.size + length]):
            if dtype not in DTYPES:
                raise Misfit(f"{place.name} holds {name!r} of type {dtype!r}")
            part = np.frombuffer(rest, dtype=dtype, count=int(np.prod(shape)))
            parts[name], rest = part.reshape(shape), rest[part.nbytes :]
        return parts

    def write(self, place: Path, parts: ArrayBundle) -> None:
        """Write a file atomically.

        Raises:
            OSError: The disk is full, the folder cannot be written, ...
            Unwanted: It was removed meanwhile.
        """
        arrays = {name: _little(part) for name, part in sorted(parts.items())}
        manifest = orjson.dumps([[name, a.dtype.str, a.shape] for name, a in arrays.items()])
        head = LENGTH.pack(len(manifest)) + manifest
        body: list[bytes | memoryview] = [head]
        body += [array.reshape(-1).view(np.uint8).data for array in arrays.values()]
        mode = self._checkpoint_directory.mode
        make(self.path, mode)
        unfinished = place.with_name(f"{place.name}.{os.urandom(4).hex()}{UNFINISHED}")
        try:
            draft(unfinished, (MAGIC, _seal(place, body), *body), mode)
            try:
                unfinished.replace(place)
            except FileNotFoundError as error:  # another process erased words, and every draft
                raise Unwanted from error
        except BaseException:
            remove([unfinished])
            raise
        sync(self.path)

    def files(self) -> list[Path]:
        """Return every graph of this space; none if the folder cannot be read."""
        return sorted(file for file in self._own() if _SPAN.search(file.name))

    def spans(self) -> list[Span]:
        """Return the ranges of rows that have files, short ones before long ones."""
        found = (_SPAN.search(file.name) for file in self.files())
        spans = {Span(int(each[1]), int(each[2])) for each in found if each is not None}
        return sorted(spans, key=lambda span: (span.rows, span.first))

    def sweep(self, kept: Iterable[Path], rows: int) -> None:
        """Remove graphs of the first *rows* rows that are not in *kept*, and abandoned drafts.

        Later rows may be of another process, which has read further in the log.
        """
        names = {place.name for place in kept}
        for file in self.files():
            found = _SPAN.search(file.name)
            if file.name not in names and found is not None and int(found[2]) <= rows:
                remove([file])
        remove(file for file in self._drafts() if _age_s(file) > ABANDONED_S)

    def clear(self) -> None:
        """Remove every graph of this space, finished or not."""
        remove([*self.files(), *self._drafts()])

    def _drafts(self) -> list[Path]:
        return [file for file in self._own() if file.name.endswith(UNFINISHED)]

    def _own(self) -> list[Path]:
        try:
            return [file for file in self.path.iterdir() if file.name.startswith(self._prefix)]
        except OSError:
            return []


def remove(files: Iterable[Path]) -> None:
    """Remove files; failures are ignored."""
    for file in files:
        with suppress(OSError):
            file.unlink(missing_ok=True)


def _little(part: NDArray[Any]) -> NDArray[Any]:
    array = np.ascontiguousarray(part)
    return array.astype(array.dtype.newbyteorder("<"), copy=False)


def _seal(place: Path, pieces: Iterable[bytes | memoryview]) -> bytes:
    seal = blake2b(place.name.encode(), digest_size=SEAL_BYTES)
    for piece in pieces:
        seal.update(piece)
    return seal.digest()


def _age_s(file: Path) -> float:
    try:
        return time.time() - file.stat().st_mtime
    except OSError:
        return 0.0
