"""Whole files under lock: checkpoints, which hold the words of many blocks at once.

They are under one key of their space, which every erasure takes along: so no checkpoint made before
can be opened after, wherever a copy of it is. The next one that is made has the next key.

The layout: ``mark, name of the key, number of the file``, then stretches of a mebibyte, each as
nonce and ciphertext. Every stretch is authenticated with its place and the file's number.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from cryptography.exceptions import InvalidTag

from mnemic.adapters.checkpoints.layout import STRETCH, Torn
from mnemic.adapters.encryption.cipher import NAME_BYTES, NONCE_BYTES, Key, opened_by
from mnemic.kernel.errors import KeysMissing

MARK = b"mnemicLK1"
NUMBER_BYTES = 16
TAG_BYTES = 16
HEAD_BYTES = len(MARK) + NAME_BYTES + NUMBER_BYTES
LOCKED_STRETCH = NONCE_BYTES + STRETCH + TAG_BYTES


class Vault:
    """Locks the checkpoints of one space.

    Args:
        current: Returns the key for a new one.
        find: Returns the key of a name; None: it is destroyed.
    """

    def __init__(self, current: Callable[[], Key], find: Callable[[bytes], Key | None]) -> None:
        self._current = current
        self._find = find

    def locked(self, pieces: Iterator[memoryview | bytes]) -> Iterator[bytes]:
        """Yield the file that holds *pieces* under lock."""
        key, number = self._current(), os.urandom(NUMBER_BYTES)
        cipher = opened_by([key])
        yield MARK + key.name + number
        for place, stretch in enumerate(_stretches(pieces)):
            nonce = os.urandom(NONCE_BYTES)
            yield nonce + cipher.encrypt(nonce, stretch, _about(number, place))

    def opened(self, path: Path) -> io.BufferedReader:
        """Return a locked file as it was before; the caller closes it.

        Raises:
            Torn: It is none, or nobody can open it any more.
            OSError: It cannot be read.
        """
        file = path.open("rb")
        try:
            head = file.read(HEAD_BYTES)
            unlocked = _Unlocked(file, self._key(head), head[-NUMBER_BYTES:])
        except BaseException:
            file.close()
            raise
        return io.BufferedReader(unlocked, STRETCH)

    def _key(self, head: bytes) -> Key:
        if len(head) != HEAD_BYTES or not head.startswith(MARK):
            raise Torn("it is not locked as this space is")
        try:
            key = self._find(head[len(MARK) : -NUMBER_BYTES])
        except KeysMissing as error:
            raise Torn("it is locked with a key of another file") from error
        if key is None:
            raise Torn("its key was destroyed when words were erased")
        return key


class _Unlocked(io.RawIOBase):
    """Reads a locked file as if it were not."""

    def __init__(self, file: io.BufferedReader, key: Key, number: bytes) -> None:
        super().__init__()
        self._file = file
        self._cipher = opened_by([key])
        self._number = number
        locked = os.fstat(file.fileno()).st_size - HEAD_BYTES
        stretches = -(-locked // LOCKED_STRETCH)
        self._length = max(0, locked - stretches * (NONCE_BYTES + TAG_BYTES))
        self._at = 0
        self._held: tuple[int, bytes] = (-1, b"")
        """The stretch that was unlocked last, and its place."""

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        origin = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._length}[whence]
        self._at = max(0, origin + offset)
        return self._at

    def tell(self) -> int:
        return self._at

    def readinto(self, buffer: memoryview | bytearray, /) -> int:  # type: ignore[override]
        if self._at >= self._length:
            return 0
        place, start = divmod(self._at, STRETCH)
        found = self._stretch(place)[start : start + len(buffer)]
        buffer[: len(found)] = found
        self._at += len(found)
        return len(found)

    def close(self) -> None:
        self._file.close()
        super().close()

    def _stretch(self, place: int) -> bytes:
        if self._held[0] != place:
            self._file.seek(HEAD_BYTES + place * LOCKED_STRETCH)
            stored = self._file.read(LOCKED_STRETCH)
            nonce, ciphertext = stored[:NONCE_BYTES], stored[NONCE_BYTES:]
            try:
                plain = self._cipher.decrypt(nonce, ciphertext, _about(self._number, place))
            except (InvalidTag, ValueError) as error:
                raise Torn("it is not what was locked") from error
            self._held = place, plain
        return self._held[1]


def _stretches(pieces: Iterator[memoryview | bytes]) -> Iterator[bytes]:
    """Yield what *pieces* hold, a mebibyte at a time."""
    held = bytearray()
    for piece in pieces:
        held += piece
        while len(held) >= STRETCH:
            yield bytes(held[:STRETCH])
            del held[:STRETCH]
    if held:
        yield bytes(held)


def _about(number: bytes, place: int) -> bytes:
    return number + place.to_bytes(8, "big")
