"""Writing an export: one file of lines, and one of vectors next to it."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from operator import attrgetter
from pathlib import Path
from typing import IO

from attrs import evolve

from mnemic.adapters.codec import Codec
from mnemic.adapters.codec.erasures import Erasures
from mnemic.adapters.files import atomic_files
from mnemic.adapters.stores.logs import chain
from mnemic.adapters.transfer.copies.copying import Progress, TransferRecord, transfer_records
from mnemic.adapters.transfer.exports.lines import Lines, Place, Written
from mnemic.adapters.transfer.exports.manifest import Manifest
from mnemic.kernel.model.texts import Embedding
from mnemic.kernel.ports import GENESIS_DIGEST, Head, Log, PayloadRow

PROGRESS_EVERY = 1000


class ErasedMeanwhile(Exception):
    """Text was erased while it was being exported. Handled within the adapters."""


def vectors_path(path: Path) -> Path:
    """Return the path of the vectors of the export at *path*."""
    return path.with_name(f"{path.name}.vectors")


def export(
    log: Log,
    path: Path,
    manifest: Manifest,
    codec: Codec,
    *,
    again: Callable[[], Manifest],
    progress: Progress | None = None,
) -> Manifest:
    """Write the beginning of *log* to *path*, and return the manifest with everything counted.

    Memory use does not grow with the log. Files appear once both are complete, the vectors first.

    Args:
        log: What to export.
        path: A file that does not exist.
        manifest: Its manifest, uncounted.
        codec: Decodes the events.
        again: Returns the manifest once more, at the end.
        progress: Called now and then with the number of events written and the total.

    Raises:
        ErasedMeanwhile: The manifest has changed by then; there are no files.
        FieldRefused: One of the files exists.
        LogCorrupt: The log cannot be read as far as it should, or ends elsewhere.
        StoreFull, StoreFailed: The files cannot be written.
    """
    atomic_files.checked_new(
        path
    )  # first: the root and "." are folders, and have no name to add to
    paths = (path, vectors_path(path))[: 1 + manifest.words]
    for each in paths[1:]:
        atomic_files.checked_new(each)
    with atomic_files.named(path), atomic_files.appearing(*paths) as outs:
        out, vectors = outs[0], outs[1] if manifest.words else None
        writer = _Writer(manifest, codec, out, vectors)
        room = manifest.room()
        out.write(b" " * room + b"\n")
        total, end = manifest.version + 1, Head(manifest.version, bytes.fromhex(manifest.chain))
        erasures = Erasures(codec, manifest.erased)
        for transfer_record in transfer_records(log, end, codec):
            erasures.see(
                transfer_record.record,
                transfer_record.recorded,
                {row.slot for row in transfer_record.payloads},
            )
            writer.write(transfer_record)
            done = transfer_record.record.version + 1
            if progress is not None and (done % PROGRESS_EVERY == 0 or done == total):
                progress(done, total)
        counted = writer.counted()
        if again() != manifest:
            raise ErasedMeanwhile
        unasked = erasures.unasked() if manifest.words else None
        if unasked is not None:
            raise chain.damage(unasked, reason="a payload is missing that was not erased")
        out.seek(0)
        out.write(counted.line().ljust(room))
        return counted


class _Writer:
    """Writes the lines after the first, and keeps count."""

    def __init__(
        self, manifest: Manifest, codec: Codec, out: IO[bytes], vectors: IO[bytes] | None
    ) -> None:
        self._manifest = manifest
        self._codec = codec
        self._lines = Lines(manifest)
        self._out = out
        self._vectors = vectors
        self._link = GENESIS_DIGEST
        self._version = -1
        self._payloads = self._vector_count = self._vector_bytes = 0
        self._sum, self._vector_sum = sha256(), sha256()

    def write(self, transfer_record: TransferRecord) -> None:
        """Write one event and its payloads; without words, the event alone."""
        rows = transfer_record.payloads if self._manifest.words else ()
        written = Written(
            record=transfer_record.record,
            previous=self._link,
            payloads=len(rows),
            recorded_us=transfer_record.recorded.recorded_us,
            command=transfer_record.command if self._manifest.words else None,
        )
        self._line(self._lines.event(written))
        kinds = self._codec.kinds(transfer_record.record) if rows else ()
        for row in sorted(rows, key=attrgetter("slot")):
            place = self._place(row) if kinds[row.slot] is Embedding else None
            self._line(self._lines.payload(row, place))
        self._payloads += len(rows)
        self._link, self._version = written.digest, transfer_record.record.version

    def _line(self, line: bytes) -> None:
        ended = line + b"\n"
        self._sum.update(ended)
        self._out.write(ended)

    def _place(self, row: PayloadRow) -> Place:
        assert self._vectors is not None, "payloads are written with words only"  # noqa: S101
        place = Place(self._vector_bytes, len(row.data))
        self._vectors.write(row.data)
        self._vector_sum.update(row.data)
        self._vector_bytes += place.size
        self._vector_count += 1
        return place

    def counted(self) -> Manifest:
        """Return the manifest with all counts.

        Raises:
            LogCorrupt: The log did not end as the manifest says.
        """
        if (self._version, self._link.hex()) != (self._manifest.version, self._manifest.chain):
            raise chain.damage(self._version + 1, reason="the log ends otherwise")
        return evolve(
            self._manifest,
            payloads=self._payloads,
            vectors=self._vector_count,
            vectors_bytes=self._vector_bytes,
            vectors_sha256=self._vector_sum.hexdigest(),
            sha256=self._sum.hexdigest(),
        )
