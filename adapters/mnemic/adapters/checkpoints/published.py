"""Checkpoints of one space in a place that hosts share: published by one, fetched by others.

Rules of this module:

1. An array file is published in chunks of a mebibyte, each an object that is named by the digest of
   its bytes. A chunk that is there is not put again, so the next checkpoint costs what has changed.
2. A checkpoint is an object with its version in the name: its manifest, and the names of its
   chunks. It is put last. A publisher that is killed before leaves chunks that no checkpoint names;
   the next one uses them, or removes them an hour later.
3. Nothing is ever changed in place, and the newest checkpoint that fits the log is fetched: so
   publishers cannot harm each other. One that is late publishes an older version, or none. Chunks
   that another one removes, since they may be of erased text, are put again. Checkpoints that are
   incomplete, or of another release, stay for an hour: their hosts may be at work.
4. What is fetched becomes files of the local folder with names of their own, and is then checked
   and mapped as if it had been written here. Every byte is checked against the name of its chunk
   on arrival, and against the seals of the manifest when it is opened.
5. Holes, and chunks with obsolete arrays alone, are not published.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import orjson
from attrs import evolve, frozen

from mnemic.adapters.checkpoints import layout
from mnemic.adapters.checkpoints.array_file import Contents, Torn
from mnemic.adapters.checkpoints.file_locks import MAPS, opened_to_write, write_at
from mnemic.adapters.checkpoints.files import (
    ENDING,
    KEPT,
    Abandoned,
    Folder,
    modified_s,
    version_of,
)
from mnemic.adapters.checkpoints.inspection import Misfit, misfit, payloads_misfit, vault_of
from mnemic.adapters.checkpoints.layout import FormatUnknown, Manifest
from mnemic.adapters.checkpoints.objects import Objects
from mnemic.kernel import results
from mnemic.kernel.errors import MnemicError, StoreFailed
from mnemic.kernel.numeric.arithmetic import MICROS_PER_HOUR
from mnemic.kernel.ports import Log
from mnemic.kernel.values import Value

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    from mnemic.kernel.results import Checkpoint

CHUNK_BYTES = 2**20
CHUNK = ".chunk"
HOLE = ""
"""Stands for the name of a chunk without bytes."""
THREADS = 4 if MAPS else 1
"""Chunks on their way at once: a bucket takes some ten milliseconds for each."""
TRIES = 3
"""How often chunks are put that others remove meanwhile."""
ABANDONED_S = 3600.0
"""Age from which a chunk that no checkpoint names counts as left by a dead process, and a
checkpoint that is incomplete or of another release as no longer needed."""
MAGIC = b"mnemicKS"
FORMAT = 1
_ZEROS = bytes(CHUNK_BYTES)


@frozen
class Document(Value):
    """A published checkpoint, without its chunks."""

    manifest: bytes
    """The manifest file, as its host wrote it."""
    length: int
    """Bytes of the array file."""
    chunks: tuple[str, ...]
    """The object with each mebibyte of the array file; empty: a hole."""

    @property
    def needed(self) -> frozenset[str]:
        """The names of its chunks."""
        return frozenset(self.chunks) - {HOLE}

    @property
    def stored(self) -> bytes:
        """The bytes of the object: magic, format, length of a JSON head, seal; head, manifest."""
        described = orjson.dumps({"length": self.length, "chunks": self.chunks})
        head = layout.HEAD.pack(MAGIC, FORMAT, len(described))
        body = described + self.manifest
        return head + layout.seal_of(head + body) + body

    @classmethod
    def read(cls, stored: bytes) -> Document:
        """Return the checkpoint in an object.

        Raises:
            Torn: It is damaged.
            FormatUnknown: Another release wrote it.
        """
        head, body = stored[: layout.HEAD.size], stored[layout.MANIFEST_AT :]
        if len(stored) < layout.MANIFEST_AT or not stored.startswith(MAGIC):
            raise Torn("it does not begin as a published checkpoint does")
        if stored[len(head) : layout.MANIFEST_AT] != layout.seal_of(head + body):
            raise Torn("it is damaged")
        _, found, length = layout.HEAD.unpack(head)
        if found != FORMAT:
            raise FormatUnknown(f"it has format {found}; this release knows {FORMAT}")
        described = orjson.loads(body[:length])
        return cls(body[length:], described["length"], tuple(described["chunks"]))


_UNREADABLE = Document(b"", 0, ())
_REMOVED = Misfit("torn", "it was removed")


class PublishedCheckpoints:
    """The published checkpoints of one space.

    Args:
        log: Of the space.
        objects: Those of the space.
    """

    def __init__(self, log: Log, objects: Objects) -> None:
        self._log = log
        self._objects = objects
        self.problem: str | None = None
        """Why the last call of ``fetched`` passed over a checkpoint; None: it did not."""

    @property
    def shown(self) -> str:
        """The place, for messages."""
        return self._objects.shown

    def newest(self) -> int:
        """Return the version of the newest whole checkpoint that fits the log; -1: there is none.

        Raises:
            StoreFailed, StoreBusy: The place does not answer.
        """
        ages = self._objects.ages()
        for name in _documents(ages):
            document, found = self._found(name)
            if isinstance(found, Manifest) and document.needed <= ages.keys():
                return version_of(Path(name))
        return -1

    # --- fetching -----------------------------------------------------------------------------

    def fetched(self, folder: Folder, *, least: int, mode: int) -> Path | None:
        """Fetch the newest checkpoint that fits the log, and return its file; None: there is none.

        Args:
            folder: Of the space.
            least: Older versions are not worth it.
            mode: Who may read and write the files.

        Raises:
            StoreFailed, StoreBusy: The place does not answer.
            OSError: The files cannot be written.
            Abandoned: Another process has removed them, because text was erased.
        """
        self.problem = None
        for name in _documents(self._objects.ages()):
            if version_of(Path(name)) < least:
                return None
            document, found = self._found(name)
            try:
                if isinstance(found, Manifest):
                    return self._written(document, found, folder, mode)
            except Torn as torn:
                found = Misfit("torn", str(torn))
            if found is not _REMOVED:  # another process has just done so
                self.problem = f"{name} in {self.shown} cannot be used: {found.problem}"
        return None

    def _written(self, document: Document, manifest: Manifest, folder: Folder, mode: int) -> Path:
        vault = vault_of(self._log)
        count = len(document.chunks)
        with (
            _blocks(folder) as here,
            folder.new_array_file(mode=mode) as (place, descriptor),
            _threads() as threads,
        ):
            os.ftruncate(descriptor, document.length)
            fill = partial(self._fill, descriptor, here)
            for torn in [*threads.map(fill, range(count), document.chunks)]:
                if torn is not None:
                    raise torn
            # Another array file may have that name here: of the same origin, and grown differently.
            pieces = layout.pieces(evolve(manifest, arrays=place.name))
            stored = pieces if vault is None else vault.locked(pieces)
            version = manifest.origin.version
            return folder.write_for((place, descriptor), version, stored, mode=mode)

    def _fill(
        self, descriptor: int, here: Mapping[str, Callable[[], bytes]], index: int, name: str
    ) -> Torn | None:
        """Write one chunk of an array file, from another file of this host if that has it.

        Returns:
            Why it cannot be used; it is removed then, and a publisher will put it again. None: it
            was written.
        """
        if name == HOLE:
            return None
        try:
            data = here[name]() if name in here else self._chunk(name)
        except Torn as torn:
            with suppress(MnemicError):
                self._objects.remove([name])
            return torn
        write_at(descriptor, memoryview(data), index * CHUNK_BYTES)
        return None

    def _chunk(self, name: str) -> bytes:
        """Return a chunk.

        Raises:
            Torn: It is missing or damaged.
        """
        data = self._objects.get(name)
        if data is None:
            raise Torn(f"its part {name} is missing")
        if _name_of(data) != name:
            raise Torn(f"its part {name} is damaged")
        return data

    def _found(self, name: str) -> tuple[Document, Manifest | Misfit]:
        """Return a published checkpoint with its manifest, or why it does not fit the log."""
        document = _UNREADABLE
        try:
            stored = self._objects.get(name)
            if stored is None:
                return document, _REMOVED
            document = Document.read(stored)
            manifest = layout.manifest_of(document.manifest, vault_of(self._log))
        except FormatUnknown as error:
            return document, Misfit("other-fold", str(error))
        except Torn as error:
            return document, Misfit("torn", str(error))
        return document, misfit(Path(name), manifest, self._log) or manifest

    # --- publishing ---------------------------------------------------------------------------

    def publish(self, file: Path, check: Callable[[], None]) -> None:
        """Publish a checkpoint of this host.

        Args:
            file: The checkpoint.
            check: Called between chunks; raises ``Abandoned`` where it is obsolete.

        Raises:
            Abandoned: It was obsolete before it was finished, or has been removed.
            OSError: It cannot be read.
            StoreFailed, StoreBusy, StoreFull: The place does not answer, or refuses.
        """
        name = f"state-v{version_of(file):012d}{ENDING}"
        try:
            stored = file.read_bytes()
            manifest = layout.manifest_of(stored, vault_of(self._log))
        except (FileNotFoundError, Torn) as error:  # another process destroys it just now
            raise Abandoned from error
        arrays = file.with_name(manifest.arrays)
        for _ in range(TRIES):
            length, chunks = self._put_chunks(arrays, manifest.contents, check)
            document = Document(stored, length, chunks)
            check()
            self._objects.put(name, document.stored)
            if document.needed <= self._objects.ages().keys():
                return
        self._objects.remove([name])  # rather than leave one that cannot be fetched
        raise StoreFailed(
            f"{self.shown}: chunks were removed while others were put",
            recovery="Try again; if it goes on, see which other programs remove objects there.",
        )

    def _put_chunks(
        self, arrays: Path, contents: Contents, check: Callable[[], None]
    ) -> tuple[int, tuple[str, ...]]:
        """Put the chunks of an array file that are missing; errors as ``publish``.

        Returns:
            The length of the file, and the names of its chunks.
        """
        is_plain, present = vault_of(self._log) is None, self._objects.ages()
        with opened_to_write(arrays) as descriptor:
            if descriptor is None:
                raise Abandoned
            length = os.fstat(descriptor).st_size
            count = -(-length // CHUNK_BYTES)
            wanted = _live(contents) if is_plain else frozenset(range(count))

            def put(index: int) -> str:
                check()
                data = _read_at(descriptor, index) if index in wanted else b""
                if data == _ZEROS[: len(data)]:
                    return HOLE
                name = _name_of(data)
                if name not in present:
                    self._objects.put(name, data)
                return name

            with _threads() as threads:
                return length, tuple(threads.map(put, range(count)))

    def sweep(self, *, erased: int, at_once: bool = False) -> None:
        """Remove all but the newest checkpoints, and chunks that none of them names.

        Args:
            erased: Version at which text was last erased: none from before stays. -1: never.
            at_once: Whether chunks that no checkpoint names go even if they are new.

        Raises:
            StoreFailed, StoreBusy: The place does not answer, or refuses.
        """
        ages = self._objects.ages()
        documents, kept, needed = _documents(ages), set[str](), set[str]()
        count = 0
        for name in documents:
            if version_of(Path(name)) < erased:
                break
            document, found = self._found(name)
            if isinstance(found, Manifest) and document.needed <= ages.keys():
                stays = count < KEPT
                count += stays
            elif isinstance(found, Manifest) or found.state == "other-fold":
                stays = ages[name] <= ABANDONED_S  # it may have been put during the listing
            else:
                stays = False
            if stays:
                kept.add(name)
                needed.update(document.needed)
        gone = [name for name in documents if name not in kept]
        gone += [
            name
            for name, age_s in ages.items()
            if name.endswith(CHUNK) and name not in needed and (at_once or age_s > ABANDONED_S)
        ]
        if gone:
            self._objects.remove(gone)

    def drop(self) -> int:
        """Remove everything, and return how many checkpoints there were."""
        ages = self._objects.ages()
        self._objects.remove(ages)
        return len(_documents(ages))

    # --- inspection ---------------------------------------------------------------------------

    def listing(self, *, erased: int) -> list[Checkpoint]:
        """Return every published checkpoint, newest first, each read to the last byte."""
        names = _documents(self._objects.ages())
        return [self._looked_at(name, erased=erased) for name in names]

    def _looked_at(self, name: str, *, erased: int) -> Checkpoint:
        (document, found), origin, size = self._found(name), None, 0
        problem = found if isinstance(found, Misfit) else None
        if isinstance(found, Manifest):
            origin = found.origin
            try:
                size = len(document.stored)
                size += sum(len(self._chunk(each)) for each in document.needed)
                problem = payloads_misfit(origin, self._log)
            except Torn as error:
                problem = Misfit("torn", str(error))
            if origin.version < erased:
                problem = Misfit("stale", "text was erased since")
        return results.Checkpoint(
            name=f"{name} in {self.shown}",
            state="valid" if problem is None else problem.state,
            version=version_of(Path(name)),
            hour=None if origin is None else origin.active_us / MICROS_PER_HOUR,
            bytes=size,
            release=None if origin is None else origin.release,
            problem=None if problem is None else problem.problem,
        )


def _documents(names: Iterable[str]) -> list[str]:
    """Return the names of checkpoints, newest first."""
    found = [name for name in names if version_of(Path(name)) >= 0]
    return sorted(found, key=lambda name: version_of(Path(name)), reverse=True)


@contextmanager
def _blocks(folder: Folder) -> Generator[dict[str, Callable[[], bytes]]]:
    """Return functions that read the chunks of the newest local array file, by their names."""
    newest = max(folder.array_files(), key=modified_s, default=folder.path)
    with opened_to_write(newest) as descriptor:
        if descriptor is None:  # there is none, or another process has just removed it
            yield {}
            return
        count = -(-os.fstat(descriptor).st_size // CHUNK_BYTES)
        yield {
            _name_of(_read_at(descriptor, index)): partial(_read_at, descriptor, index)
            for index in range(count)
        }


@contextmanager
def _threads() -> Generator[ThreadPoolExecutor]:
    """Return threads that begin nothing more once one has failed."""
    from concurrent.futures import ThreadPoolExecutor

    threads = ThreadPoolExecutor(THREADS)
    try:
        yield threads
    finally:
        threads.shutdown(cancel_futures=True)


def _live(contents: Contents) -> frozenset[int]:
    """Return which chunks of an array file have bytes of arrays."""
    found: set[int] = {0}  # the mark of the file
    for part in contents.parts:
        first, end = part.offset, part.offset + part.length
        found.update(range(first // CHUNK_BYTES, -(-end // CHUNK_BYTES)))
    return frozenset(found)


def _read_at(descriptor: int, index: int) -> bytes:
    """Return one chunk of a file."""
    if MAPS:
        return os.pread(descriptor, CHUNK_BYTES, index * CHUNK_BYTES)
    os.lseek(descriptor, index * CHUNK_BYTES, os.SEEK_SET)
    return os.read(descriptor, CHUNK_BYTES)


def _name_of(data: bytes) -> str:
    """Return the name of a chunk: its SHA-256, which processors have instructions for."""
    return sha256(data).hexdigest() + CHUNK
