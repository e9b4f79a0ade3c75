"""An export as one body, for transports that carry one: a tar archive of its two files.

The format, of media type ``application/x-tar``, which ``tar xf`` unpacks too:

1. The file of lines comes first, then, if the export has text, the file of vectors, which is the
   one whose name ends in ``.vectors``. Otherwise the names have no meaning, and name no file here.
2. Both are plain members: one header, the bytes, zeros up to 512. A file of 8 GB or more has its
   size in base 256, as GNU tar writes it. Extended headers (pax) may come between and are skipped.
3. Two blocks of zeros end it. Owner and time are left out: the same export is always the same
   bytes, so its length is known before the first one is sent.
4. Digests are in the usual place: the first line of the export authenticates itself, all other
   lines and the vectors. To check an unpacked one, read it with ``Export``, or import it.
"""

from __future__ import annotations

import os
import tarfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Self

from mnemic.adapters.files import atomic_files
from mnemic.adapters.system.folders import PRIVATE
from mnemic.adapters.transfer.exports.reader import Export
from mnemic.adapters.transfer.exports.writer import vectors_path
from mnemic.kernel.errors import ExportCorrupt

MEDIA_TYPE = "application/x-tar"
LINES = "export.jsonl"
VECTORS = f"{LINES}.vectors"
BLOCK = tarfile.BLOCKSIZE
END = bytes(2 * BLOCK)
PIECE_BYTES = 1 << 18
_EXTENDED = {tarfile.XHDTYPE, tarfile.XGLTYPE}


def first_line(path: Path, most: int) -> bytes:
    """Return the first line of the first file in an archive; empty if it is no archive.

    Args:
        path: The archive.
        most: Bytes after which a longer line is cut.

    Raises:
        OSError: It cannot be read.
    """
    with path.open("rb") as source:
        while header := source.read(BLOCK):
            try:
                member = tarfile.TarInfo.frombuf(header, "utf-8", "strict")
            except (tarfile.HeaderError, ValueError):
                return b""
            if member.type not in _EXTENDED:
                return source.readline(most)
            source.seek(-(-member.size // BLOCK) * BLOCK, os.SEEK_CUR)
    return b""


class Packed:
    """An export as the bytes of an archive, for a ``with`` block.

    The files are opened at once. Where the system allows it, they may be removed then.

    Args:
        path: Its file of lines; the vectors are next to it.

    Raises:
        ExportCorrupt: The first line is no manifest.
        StoreFailed: A file does not exist, or cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self.manifest = Export(path).manifest
        paths = (path, vectors_path(path))[: 1 + self.manifest.words]
        self._path = path
        self._stack = ExitStack()
        with atomic_files.named(path), self._stack as stack:
            self._files = [stack.enter_context(each.open("rb")) for each in paths]
            self._sizes = [file.seek(0, 2) for file in self._files]
            self._stack = stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    @property
    def size(self) -> int:
        """Length of the archive in bytes."""
        return sum(BLOCK + size + -size % BLOCK for size in self._sizes) + len(END)

    def __iter__(self) -> Iterator[bytes]:
        """Yield the archive in pieces, from its beginning.

        Raises:
            StoreFailed: A file cannot be read.
            ExportCorrupt: A file was cut off since it was opened.
        """
        for name, file, size in zip((LINES, VECTORS), self._files, self._sizes, strict=False):
            yield _header(name, size)
            yield from self._read(file, size)
            if size % BLOCK:
                yield bytes(-size % BLOCK)
        yield END

    def _read(self, file: IO[bytes], size: int) -> Iterator[bytes]:
        file.seek(0)
        while size:
            with atomic_files.named(self._path):
                piece = file.read(min(size, PIECE_BYTES))
            if not piece:
                raise ExportCorrupt(f"{self._path} was cut off while it was read")
            size -= len(piece)
            yield piece


class Unpacking:
    """Unpacks an archive that arrives piece by piece into a folder. For a ``with`` block.

    Nothing in it is trusted except where a member begins and ends: the files get names of ours, and
    there are two at most. Their content is checked by ``Export``.

    Args:
        folder: Where the files go. Only their owner may read them.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._header = bytearray()
        self._left = 0
        """Bytes of the current member still to come."""
        self._padding = 0
        """Bytes of padding after it."""
        self._out: IO[bytes] | None = None
        """File of the current member; None: it is skipped."""
        self._found: set[str] = set()
        self._ended = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._end_member()

    def feed(self, data: bytes) -> None:
        """Process the next bytes, however many.

        Raises:
            ExportCorrupt: It is no archive of an export.
            StoreFull, StoreFailed: The files cannot be written.
        """
        rest = memoryview(data)
        while rest and not self._ended:
            rest = rest[self._take(rest) :]

    def finish(self) -> Path:
        """Return the file of lines, once everything was fed.

        Raises:
            ExportCorrupt: The archive is cut off, or holds no lines.
        """
        if not self._ended:
            raise ExportCorrupt("the archive is cut off", recovery="Send all of it.")
        if LINES not in self._found:
            raise ExportCorrupt("the archive holds no file of lines")
        return self._folder / LINES

    def _take(self, data: memoryview) -> int:
        """Process some of *data*, and return how much."""
        if self._left:
            piece = data[: self._left]
            if self._out is not None:
                with atomic_files.named(Path(self._out.name)):
                    self._out.write(piece)
            self._left -= len(piece)
        elif self._padding:
            self._end_member()
            piece = data[: self._padding]
            self._padding -= len(piece)
        else:
            self._end_member()
            piece = data[: BLOCK - len(self._header)]
            self._header += piece
            if len(self._header) == BLOCK:
                self._begin_member(bytes(self._header))
                self._header.clear()
        return len(piece)

    def _begin_member(self, header: bytes) -> None:
        if not any(header):
            self._ended = True
            return
        try:
            member = tarfile.TarInfo.frombuf(header, "utf-8", "surrogateescape")
        except tarfile.HeaderError as error:
            raise ExportCorrupt(
                f"this is no tar archive: {error}",
                recovery="Send what GET .../export answered, or a tar of the two files.",
            ) from error
        if member.size < 0:
            raise ExportCorrupt("a member of the archive has no size")
        self._left, self._padding = member.size, -member.size % BLOCK
        if member.type in _EXTENDED:
            return
        self._out = self._opened(member)

    def _opened(self, member: tarfile.TarInfo) -> IO[bytes]:
        name = VECTORS if member.name.endswith(".vectors") else LINES
        if not member.isreg() or name in self._found:
            raise ExportCorrupt(
                f"the archive holds {member.name!a:.100}, which is no part of an export",
                recovery="Send the file of lines and the file of vectors, and nothing else.",
            )
        self._found.add(name)
        path = self._folder / name
        with atomic_files.named(path):
            return open(path, "xb", opener=_privately)

    def _end_member(self) -> None:
        out, self._out = self._out, None
        if out is not None:
            with atomic_files.named(Path(out.name)):
                out.close()


def _privately(path: str, flags: int) -> int:
    return os.open(path, flags, PRIVATE)


def _header(name: str, size: int) -> bytes:
    member = tarfile.TarInfo(name)
    member.size, member.mode = size, PRIVATE
    return member.tobuf(tarfile.GNU_FORMAT, "utf-8", "strict")
