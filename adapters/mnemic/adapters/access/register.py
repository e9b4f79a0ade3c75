"""The file of tokens: one JSON document to a line, written as a whole or not at all.

The first line names the format and the SHA-256 of all the others, so a byte that changed is noticed
and nobody comes in by damage. Only its owner may read and write the file. Digests are no secrets,
but whoever can write here can let themselves in, and names and spaces are nobody else's business.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Generator, Iterable, Mapping
from contextlib import closing, contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import orjson
from attrs import frozen

from mnemic.adapters.access.tokens import Token, TokenId, restored
from mnemic.adapters.exchange.files import named
from mnemic.adapters.folders import PRIVATE, draft, sync
from mnemic.adapters.stores.locking import PATIENCE_S, Sidecar
from mnemic.kernel.errors import AccessDamaged, FieldRefused, StoreFailed, StoreTooNew

FORMAT = "mnemic-tokens"
VERSION = 1
OTHERS = 0o077
"""Permissions that anybody but the owner may have."""
TICK_NS = 1000
"""A step that every file system with fine times of change can tell."""


class Stamp(NamedTuple):
    """Tells one state of the file from another without reading it."""

    device: int
    inode: int
    size: int
    written_ns: int
    changed_ns: int
    """Moves with permissions too, where the system keeps it."""


@frozen
class Page:
    """What the file said, and when."""

    stamp: Stamp | None
    """None: there is no file, and so no token."""
    tokens: Mapping[TokenId, Token]
    """In order of creation."""


def beside(store: Path) -> Path:
    """Return where the tokens for a store in one file stand, whatever path or link leads there."""
    file = Path(os.path.realpath(store))
    return file.with_name(f"{file.name}.tokens")


class Register:
    """The file.

    Args:
        path: Where it stands, or will. A link is followed, so that writing does not replace it.
    """

    def __init__(self, path: Path) -> None:
        self.path = Path(os.path.realpath(path))

    def stamp(self) -> Stamp | None:
        """Return the file's stamp; None: there is no file.

        Raises:
            StoreFailed: The system does not say.
        """
        with named(self.path):
            try:
                return _stamp(self.path.stat())
            except FileNotFoundError:
                return None

    def read(self) -> Page:
        """Return what the file says now.

        Raises:
            AccessDamaged: It is not what was written.
            StoreTooNew: A later release wrote it.
            StoreFailed: It cannot be read, or others can.
        """
        with named(self.path):
            try:
                file = self.path.open("rb")
            except FileNotFoundError:
                return Page(None, {})
            with file:
                status = os.fstat(file.fileno())
                self._check_private(status)
                return Page(_stamp(status), self._parsed(file.read()))

    @contextmanager
    def turn(self) -> Generator[None]:
        """Hold the right to write, for a ``with`` block, among threads and processes.

        Raises:
            StoreBusy: Another one holds it for too long.
            StoreFailed: There is no such folder, or it cannot be written.
        """
        if not self.path.parent.is_dir():
            raise StoreFailed(
                f"there is no folder {self.path.parent}",
                recovery=f"Make the folder {self.path.parent}, or name another path.",
                path=str(self.path),
            )
        with closing(Sidecar(self.path.with_name(f"{self.path.name}.lock"))) as lock:
            lock.take(time.monotonic() + PATIENCE_S)
            try:
                yield
            finally:
                lock.give_back()

    def write(self, tokens: Iterable[Token]) -> None:
        """Put other tokens into the file, for good. Only in one's turn.

        Raises:
            StoreFull: There is no room; the file is as it was.
            StoreFailed: It cannot be written; likewise.
        """
        body = b"".join(orjson.dumps(token.stored()) + b"\n" for token in tokens)
        head = {"format": FORMAT, "version": VERSION, "sha256": sha256(body).hexdigest()}
        aside = self.path.with_name(f".{self.path.name}.part")
        before = self.stamp()
        with named(self.path):
            aside.unlink(missing_ok=True)  # of somebody who was killed in their turn
            try:
                draft(aside, (orjson.dumps(head), b"\n", body), PRIVATE)
                _date(aside, before)
                aside.replace(self.path)
            except BaseException:
                aside.unlink(missing_ok=True)
                raise
        with suppress(OSError):  # not every system lets a folder be opened
            sync(self.path.parent)

    def _parsed(self, data: bytes) -> dict[TokenId, Token]:
        first, _, body = data.partition(b"\n")
        head = self._head(first)
        if head.get("sha256") != sha256(body).hexdigest():
            raise self._damaged("its lines are not those that were written")
        tokens: dict[TokenId, Token] = {}
        for number, line in enumerate(body.splitlines(), 2):
            try:
                token = restored(orjson.loads(line))
            except (KeyError, TypeError, ValueError, FieldRefused) as error:
                raise self._damaged(f"line {number} holds no token") from error
            if token.id in tokens:
                raise self._damaged(f"line {number} repeats the id {token.id}")
            tokens[token.id] = token
        return tokens

    def _head(self, line: bytes) -> dict[str, Any]:
        try:
            head = orjson.loads(line)
        except ValueError as error:
            raise self._damaged("it does not begin like one") from error
        if not isinstance(head, dict) or head.get("format") != FORMAT:
            raise self._damaged("it does not begin like one")
        version = head.get("version")
        if type(version) is not int or version < 1:
            raise self._damaged("it does not begin like one")
        if version > VERSION:
            raise StoreTooNew(
                f"{self.path} has format {version}, this release knows {VERSION}",
                path=str(self.path),
            )
        return head

    def _check_private(self, status: os.stat_result) -> None:
        mode = stat.S_IMODE(status.st_mode)
        if os.name == "posix" and mode & OTHERS:
            raise StoreFailed(
                f"{self.path} says who may come in, and is open to others (mode {mode:04o})",
                recovery=f"Run `chmod 600 {self.path}`, then look through `mnemic token list` for "
                "what nobody here made.",
                path=str(self.path),
            )

    def _damaged(self, detail: str) -> AccessDamaged:
        return AccessDamaged(
            f"{self.path} is not a sound file of tokens: {detail}", path=str(self.path)
        )


def _stamp(status: os.stat_result) -> Stamp:
    return Stamp(
        status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
    )


def _date(file: Path, before: Stamp | None) -> None:
    """Make a new file look newer than the one it replaces.

    Times of change are as coarse as some milliseconds, and the system gives the number of a file
    that went to the next one. Two files in quick turn could look alike, and a token that was
    revoked by the second would go on.
    """
    status = file.stat()
    if before is not None and status.st_mtime_ns <= before.written_ns:
        os.utime(file, ns=(status.st_atime_ns, before.written_ns + TICK_NS))
