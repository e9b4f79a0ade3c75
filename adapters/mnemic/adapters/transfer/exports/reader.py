"""Reads an export from its first line to its last, and checks everything.

What is checked, in this order, and named by line:

1. the manifest, against its own digest;
2. each event's line: its place in the chain from the genesis on, its exact form, its fields;
3. each payload: that there are as many as the event says, in their slots, each under its MAC;
   a vector at the next position in the other file;
4. at the end: the head, all counts, the digests of both files, and that no payload is missing
   that was not erased.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

from mnemic.adapters.codec import Codec
from mnemic.adapters.files import atomic_files
from mnemic.adapters.stores.logs import chain
from mnemic.adapters.system.entropy import SystemEntropy
from mnemic.adapters.system.paths import checked_path
from mnemic.adapters.transfer.copies.pipeline import TransferRecord, Walk
from mnemic.adapters.transfer.exports.lines import (
    Counts,
    Lines,
    Written,
    command_of,
    parsed,
    payload_of,
    record_of,
)
from mnemic.adapters.transfer.exports.manifest import Manifest, ManifestUnreadable, read
from mnemic.adapters.transfer.exports.writer import vectors_path
from mnemic.kernel.errors import ExportCorrupt, LogCorrupt
from mnemic.kernel.events import BlockLearned
from mnemic.kernel.ports import PayloadRow, Record

LINE_MAX = 256 * 2**20
"""Longer than any line of an export, in bytes."""
_MALFORMED = (ValueError, TypeError, LookupError, AttributeError, OverflowError)


class Export:
    """An export on disk. Reading it never holds more than one event in memory.

    Args:
        path: Its file of lines; the vectors are next to it.

    Raises:
        ExportCorrupt: The first line is not a manifest.
        StoreFailed: There is no such file.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = checked_path(path)
        with atomic_files.named(self.path), self.path.open("rb") as source:
            first = source.readline(LINE_MAX)
        try:
            self.manifest: Manifest = read(first)
        except ManifestUnreadable as error:
            raise ExportCorrupt(f"{self.path}: line 1: {error}", line=1) from error

    def entries(self) -> Generator[TransferRecord]:
        """Yield every event with its payloads, in order; each call reads the files afresh.

        Raises:
            ExportCorrupt: With the facts ``line`` and ``version``; all before it were sound.
            StoreTooNew: An event is of a kind that this release does not know.
            StoreFailed: A file cannot be read.
        """
        with atomic_files.named(self.path), ExitStack() as stack:
            source = stack.enter_context(self.path.open("rb"))
            vectors = None
            if self.manifest.words:
                beside = vectors_path(self.path)
                if not beside.exists():
                    raise ExportCorrupt(f"the vectors of {self.path} are not at {beside}", line=1)
                vectors = stack.enter_context(beside.open("rb"))
            yield from _Reader(self, source, vectors)


class _Reader:
    """One pass over an export."""

    def __init__(self, export: Export, source: IO[bytes], vectors: IO[bytes] | None) -> None:
        self._export = export
        self._manifest = export.manifest
        self._lines = Lines(export.manifest)
        self._codec = Codec(SystemEntropy())
        self._source = source
        self._vectors = vectors
        self._number = 1
        self._walk = Walk(self._codec, erased_later=export.manifest.erased)
        """Of the events that were sound."""
        self._unlearned = set(export.manifest.erased)
        """Blocks that the manifest lists as erased later, and that have not been read yet."""
        self._counts = Counts()

    def __iter__(self) -> Iterator[TransferRecord]:
        self._source.readline(LINE_MAX)  # the manifest, which has been read
        yield from self._walk.over(self._entries())
        self._finish()

    def _entries(self) -> Iterator[TransferRecord]:
        while self._walk.head.version < self._manifest.version:
            entry = self._entry()
            if isinstance(entry.recorded.event, BlockLearned):
                self._unlearned.discard(entry.recorded.event.block_id)
            yield entry

    def _entry(self) -> TransferRecord:
        line, head = self._line(), self._walk.head
        try:
            found = parsed(line)
            record = record_of(found)
            expected = int(found["payloads"])
        except _MALFORMED as error:
            raise self._bad("no event can be read there") from error
        if record.version != head.version + 1:
            raise self._bad(f"version {head.version + 1} was expected, not {record.version!r}")
        if found.get("previous") != head.digest.hex():
            raise self._bad("the chain breaks: it builds on another event")
        if found.get("id") != chain.digest(head.digest, *record).hex():
            raise self._bad("the event's bytes do not give its digest")
        number = self._number
        rows: list[PayloadRow] = []
        for _ in range(expected):
            rows.append(self._payload(record, after=rows[-1].slot if rows else -1))
        try:
            recorded, missing = self._codec.decode_noting(record, rows)
            written = Written(
                record=record,
                previous=head.digest,
                payloads=expected,
                recorded_us=recorded.recorded_us,
                command=command_of(found, recorded.command_id),
            )
        except LogCorrupt as error:
            raise self._bad(error.message, number) from error
        except _MALFORMED as error:
            raise self._bad("the event's line is damaged", number) from error
        if self._lines.event(written) != line:
            raise self._bad("the event's line is not as it was written", number)
        return TransferRecord(
            record=record,
            recorded=recorded,
            payloads=tuple(rows),
            missing=missing,
            command=written.command,
        )

    def _payload(self, record: Record, *, after: int) -> PayloadRow:
        line = self._line()
        try:
            row, place = payload_of(parsed(line))
            again = self._lines.payload(row, place)
        except _MALFORMED as error:
            raise self._bad("no payload can be read there") from error
        if again != line or row.version != record.version:
            raise self._bad(f"a payload of version {record.version} was expected")
        if row.slot <= after:
            raise self._bad(f"a payload of a slot after {after} was expected")
        self._counts.payloads += 1
        if place is None:
            return row
        if place.at != self._counts.vectors_bytes or self._vectors is None:
            raise self._bad("a vector is not at the next place in its file")
        data = self._vectors.read(min(place.size, LINE_MAX))
        if len(data) != place.size:
            raise self._bad("the file of vectors ends early")
        self._counts.add_vector(data)
        return row._replace(data=data)

    def _line(self) -> bytes:
        """Return the next line without its end.

        Raises:
            ExportCorrupt: There is none, or it has no end.
        """
        self._number += 1
        line = self._source.readline(LINE_MAX)
        if not line:
            raise self._bad(f"the file ends before version {self._manifest.version}")
        if line[-1:] != b"\n":
            raise self._bad("the line is cut off")
        self._counts.add_line(line)
        return line[:-1]

    def _finish(self) -> None:
        """Compare everything with the manifest.

        Raises:
            ExportCorrupt: Something does not add up.
        """
        manifest = self._manifest
        if self._source.read(1):
            self._number += 1
            raise self._bad(f"there is data after version {manifest.version}")
        if self._walk.head.digest.hex() != manifest.chain:
            raise self._bad("the chain does not end as the manifest says")
        if self._unlearned:
            raise self._bad("the manifest lists blocks as erased that were never learned")
        if self._vectors is not None and self._vectors.read(1):
            raise self._bad("the file of vectors is longer than the manifest says")
        if self._counts.added_to(manifest) != manifest:
            raise self._bad("the lines do not add up to what the manifest says")
        unasked = self._walk.erasures.unasked() if manifest.words else None
        if unasked is not None:
            raise ExportCorrupt(
                f"{self._export.path}: version {unasked} lacks a payload that was not erased",
                version=unasked,
            )

    def _bad(self, problem: str, line: int | None = None) -> ExportCorrupt:
        number, version = line or self._number, self._walk.head.version + 1
        facts: dict[str, Any] = {"line": number, "version": version}
        return ExportCorrupt(
            f"{self._export.path}: line {number} (version {version}): {problem}", **facts
        )
