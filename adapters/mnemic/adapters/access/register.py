"""The file of tokens: one JSON document per line, written as a whole or not at all.

The first line holds the format and the SHA-256 of all others, so that a changed byte is detected
and damage grants no access. Only its owner may read and write the file. Digests are no secrets, but
write access to the file would allow others to add tokens, and names and spaces are confidential.
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
from mnemic.adapters.files.atomic_files import named
from mnemic.adapters.stores.logs.write_lock import PATIENCE_S, LockFile
from mnemic.adapters.system.folders import PRIVATE, draft, sync
from mnemic.kernel.errors import AccessDamaged, FieldRefused, StoreFailed, StoreTooNew

FORMAT = "mnemic-tokens"
VERSION = 1
OTHERS = 0o077
"""Permissions of users other than the owner."""
TICK_NS = 1000
"""A step that every file system with fine timestamps can represent."""


class Stamp(NamedTuple):
    """Identifies one state of the file without reading it."""

    device: int
    inode: int
    size: int
    written_ns: int
    changed_ns: int
    """Changes with permissions too, if the system maintains it."""


@frozen
class Contents:
    """The content of the file, and its stamp."""

    stamp: Stamp | None
    """None: there is no file, and thus no token."""
    tokens: Mapping[TokenId, Token]
    """In order of creation."""


def beside(store: Path) -> Path:
    """Return the path of the tokens of a store in one file, with links resolved."""
    file = Path(os.path.realpath(store))
    return file.with_name(f"{file.name}.tokens")


class Register:
    """Reads and writes the file of tokens.

    Args:
        path: The file, which need not exist. A link is followed, so that writing does not replace
            it.
    """

    def __init__(self, path: Path) -> None:
        self.path = Path(os.path.realpath(path))

    def stamp(self) -> Stamp | None:
        """Return the file's stamp; None: there is no file.

        Raises:
            StoreFailed: The system cannot tell.
        """
        with named(self.path):
            try:
                return _stamp(self.path.stat())
            except FileNotFoundError:
                return None

    def read(self) -> Contents:
        """Return the current content of the file.

        Raises:
            AccessDamaged: It is not what was written.
            StoreTooNew: A later release wrote it.
            StoreFailed: It cannot be read, or others can read it.
        """
        with named(self.path):
            try:
                file = self.path.open("rb")
            except FileNotFoundError:
                return Contents(None, {})
            with file:
                status = os.fstat(file.fileno())
                self._check_private(status)
                return Contents(_stamp(status), self._parsed(file.read()))

    @contextmanager
    def write_lock(self) -> Generator[None]:
        """Hold the write lock among threads and processes, for a ``with`` block.

        Raises:
            StoreBusy: Another holder keeps it for too long.
            StoreFailed: There is no such folder, or it cannot be written.
        """
        if not self.path.parent.is_dir():
            raise StoreFailed(
                f"there is no folder {self.path.parent}",
                recovery=f"Make the folder {self.path.parent}, or name another path.",
                path=str(self.path),
            )
        with closing(LockFile(self.path.with_name(f"{self.path.name}.lock"))) as lock:
            lock.take(time.monotonic() + PATIENCE_S)
            try:
                yield
            finally:
                lock.give_back()

    def write(self, tokens: Iterable[Token]) -> None:
        """Replace the tokens in the file, durably. Requires the write lock.

        Raises:
            StoreFull: There is no space; the file is unchanged.
            StoreFailed: It cannot be written; likewise.
        """
        body = b"".join(orjson.dumps(token.stored()) + b"\n" for token in tokens)
        head = {"format": FORMAT, "version": VERSION, "sha256": sha256(body).hexdigest()}
        temporary = self.path.with_name(f".{self.path.name}.part")
        before = self.stamp()
        with named(self.path):
            temporary.unlink(missing_ok=True)  # left by a process that was killed
            try:
                draft(temporary, (orjson.dumps(head), b"\n", body), PRIVATE)
                _ensure_newer(temporary, before)
                temporary.replace(self.path)
            except BaseException:
                temporary.unlink(missing_ok=True)
                raise
        with suppress(OSError):  # not every system allows opening a folder
            sync(self.path.parent)

    def _parsed(self, data: bytes) -> dict[TokenId, Token]:
        first, _, body = data.partition(b"\n")
        head = self._head(first)
        if head.get("sha256") != sha256(body).hexdigest():
            raise self._damaged("its content does not match its checksum")
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
                f"{self.path} controls access, and is open to other users (mode {mode:04o})",
                recovery=f"Run `chmod 600 {self.path}`, then check `mnemic token list` for unknown "
                "tokens.",
                path=str(self.path),
            )

    def _damaged(self, detail: str) -> AccessDamaged:
        return AccessDamaged(
            f"{self.path} is not a valid file of tokens: {detail}", path=str(self.path)
        )


def _stamp(status: os.stat_result) -> Stamp:
    return Stamp(
        status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
    )


def _ensure_newer(file: Path, before: Stamp | None) -> None:
    """Make a new file look newer than the one it replaces.

    Timestamps have a resolution of some milliseconds, and the system reuses the inode number of a
    removed file. Two files in quick succession could have equal stamps, and a token that was
    revoked in the second would remain valid.
    """
    status = file.stat()
    if before is not None and status.st_mtime_ns <= before.written_ns:
        os.utime(file, ns=(status.st_atime_ns, before.written_ns + TICK_NS))
