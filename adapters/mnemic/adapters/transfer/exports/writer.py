"""Writing an export: one file of lines, and one of vectors next to it."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from pathlib import Path
from typing import IO

from mnemic.adapters.codec import Codec
from mnemic.adapters.files import atomic_files
from mnemic.adapters.stores.logs import chain
from mnemic.adapters.transfer.copies.logs import log_records
from mnemic.adapters.transfer.copies.pipeline import Progress, Tally, TransferRecord, Walk
from mnemic.adapters.transfer.exports.lines import Counts, Lines, Place, Written
from mnemic.adapters.transfer.exports.manifest import Manifest
from mnemic.kernel.model.texts import Embedding
from mnemic.kernel.ports import Head, Log, PayloadRow


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
        again: Returns the manifest as it is at the end.
        progress: Called now and then with the number of events written and the total.

    Raises:
        ErasedMeanwhile: The manifest has changed by then; there are no files.
        FieldRefused: One of the files exists.
        LogCorrupt: The log cannot be read as far as it should, or ends elsewhere.
        StoreFull, StoreFailed: The files cannot be written.
    """
    atomic_files.checked_new(path)  # before a name is added: folders such as "." have none
    paths = (path, vectors_path(path))[: 1 + manifest.words]
    for beside in paths[1:]:
        atomic_files.checked_new(beside)
    end = Head(manifest.version, bytes.fromhex(manifest.chain))
    tally = Tally(progress, total=manifest.version + 1)
    walk = Walk(codec, erased_later=manifest.erased, tally=tally)
    with atomic_files.named(path), atomic_files.appearing(*paths) as outs:
        out, vectors = outs[0], outs[1] if manifest.words else None
        writer = _Writer(manifest, codec, out, vectors)
        room = manifest.room()
        out.write(b" " * room + b"\n")
        before = walk.head
        for each in walk.over(log_records(log, end, codec, commands=manifest.words)):
            writer.write(each, before.digest)
            before = walk.head
        tally.show()
        if walk.head != end:
            raise chain.damage(walk.head.version + 1, reason="it is not what the manifest says")
        if again() != manifest:
            raise ErasedMeanwhile
        unasked = walk.erasures.unasked() if manifest.words else None
        if unasked is not None:
            raise chain.damage(unasked, reason="a payload is missing that was not erased")
        counted = writer.counts.added_to(manifest)
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
        self.counts = Counts()

    def write(self, each: TransferRecord, previous: bytes) -> None:
        """Write one event, which follows *previous*, and its payloads, if words are wanted."""
        rows = each.payloads if self._manifest.words else ()
        written = Written(
            record=each.record,
            previous=previous,
            payloads=len(rows),
            recorded_us=each.recorded.recorded_us,
            command=each.command,
        )
        self._line(self._lines.event(written))
        kinds = self._codec.kinds(each.record) if rows else ()
        for row in sorted(rows, key=attrgetter("slot")):
            place = self._place(row) if kinds[row.slot] is Embedding else None
            self._line(self._lines.payload(row, place))
        self.counts.payloads += len(rows)

    def _line(self, line: bytes) -> None:
        ended = line + b"\n"
        self.counts.add_line(ended)
        self._out.write(ended)

    def _place(self, row: PayloadRow) -> Place:
        assert self._vectors is not None, "payloads are written with words only"  # noqa: S101
        place = Place(self.counts.vectors_bytes, len(row.data))
        self._vectors.write(row.data)
        self.counts.add_vector(row.data)
        return place
