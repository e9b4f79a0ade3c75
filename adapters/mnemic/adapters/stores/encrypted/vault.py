"""Encryption of whole files: checkpoints, which hold the text of many blocks at once.

They are encrypted with one key of their space, which every erasure destroys: a checkpoint made
before an erasure cannot be opened after it, wherever a copy of it is. The next one uses a new key.

The layout: ``mark, name of the key, number of the file, name of the newest key``, then chunks of a
mebibyte, each as nonce and ciphertext. Every chunk is authenticated with its index and the file's
header. A checkpoint saves reading the log, and with it the check that the file of keys is not an
older copy: so it is accepted only where its newest key is present.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from cryptography.exceptions import InvalidTag

from mnemic.adapters.checkpoints.array_file import Torn
from mnemic.adapters.stores.encrypted.cipher import (
    NAME_BYTES,
    NONCE_BYTES,
    Key,
    opened_by,
)
from mnemic.kernel.errors import KeysMissing

MARK = b"mnemicLK2"
STRETCH = 2**20
"""Bytes that are encrypted together."""
NUMBER_BYTES = 16
TAG_BYTES = 16
HEAD_BYTES = len(MARK) + NAME_BYTES + NUMBER_BYTES + NAME_BYTES
LOCKED_STRETCH = NONCE_BYTES + STRETCH + TAG_BYTES


class Vault:
    """Encrypts the checkpoints of one space.

    Args:
        current: Returns the key for a new one.
        find: Returns the key of a name; None: it is destroyed.
        newest: Returns the name of the newest key of the space.
    """

    def __init__(
        self,
        current: Callable[[], Key],
        find: Callable[[bytes], Key | None],
        newest: Callable[[], bytes],
    ) -> None:
        self._current = current
        self._find = find
        self._newest = newest

    def locked(self, pieces: Iterator[memoryview | bytes]) -> Iterator[bytes]:
        """Yield the encrypted file that holds *pieces*."""
        key, number = self._current(), os.urandom(NUMBER_BYTES)
        cipher = opened_by([key])
        head = MARK + key.name + number + self._newest()
        yield head
        for place, stretch in enumerate(_stretches(pieces)):
            nonce = os.urandom(NONCE_BYTES)
            yield nonce + cipher.encrypt(nonce, stretch, _about(head, place))

    def opened(self, path: Path) -> io.BufferedReader:
        """Return a decrypting reader of an encrypted file; the caller closes it.

        Raises:
            Torn: It is no such file, or its key is not available.
            OSError: It cannot be read.
        """
        file = path.open("rb")
        try:
            head = file.read(HEAD_BYTES)
            unlocked = _Unlocked(file, self._key(head), head)
        except BaseException:
            file.close()
            raise
        return io.BufferedReader(unlocked, STRETCH)

    def _key(self, head: bytes) -> Key:
        if len(head) != HEAD_BYTES or not head.startswith(MARK):
            raise Torn("it is not encrypted as this space is")
        try:
            key = self._find(head[len(MARK) :][:NAME_BYTES])
            self._find(head[-NAME_BYTES:])
        except KeysMissing as error:
            raise Torn("it is encrypted with another file of keys, or a newer one") from error
        if key is None:
            raise Torn("its key was destroyed when words were erased")
        return key


class _Unlocked(io.RawIOBase):
    """Reads an encrypted file as plain bytes."""

    def __init__(self, file: io.BufferedReader, key: Key, head: bytes) -> None:
        super().__init__()
        self._file = file
        self._cipher = opened_by([key])
        self._head = head
        locked = os.fstat(file.fileno()).st_size - HEAD_BYTES
        stretches = -(-locked // LOCKED_STRETCH)
        self._length = max(0, locked - stretches * (NONCE_BYTES + TAG_BYTES))
        self._at = 0
        self._held: tuple[int, bytes] = (-1, b"")
        """The chunk that was decrypted last, and its index."""

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
                plain = self._cipher.decrypt(nonce, ciphertext, _about(self._head, place))
            except (InvalidTag, ValueError) as error:
                raise Torn("it is not what was locked") from error
            self._held = place, plain
        return self._held[1]


def _stretches(pieces: Iterator[memoryview | bytes]) -> Iterator[bytes]:
    """Yield the bytes of *pieces*, a mebibyte at a time."""
    held = bytearray()
    for piece in pieces:
        held += piece
        while len(held) >= STRETCH:
            yield bytes(held[:STRETCH])
            del held[:STRETCH]
    if held:
        yield bytes(held)


def _about(head: bytes, place: int) -> bytes:
    return head + place.to_bytes(8, "big")
