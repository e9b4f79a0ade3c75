"""Encryption of checkpoint files, which hold the text of many blocks.

All checkpoints of a space are encrypted with one key, which every erasure destroys: no checkpoint
from before an erasure, nor any copy of it, can be decrypted after it. The next one gets a new key.

A file begins with a header: ``mark, name of the key, number of the file, name of the newest key``.
It is followed by chunks of a mebibyte, each as nonce and ciphertext. Every chunk is authenticated
with its index and the header. Opening a checkpoint instead of reading the log would skip the check
that the key file is not an older copy. So it is accepted only if the key file has the newest key.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from cryptography.exceptions import InvalidTag

from mnemic.adapters.checkpoints.array_file import Torn
from mnemic.adapters.stores.encrypted.cipher import (
    NAME_BYTES,
    NONCE_BYTES,
    Key,
    cipher_of,
)
from mnemic.kernel.errors import KeysMissing

MARK = b"mnemicLK2"
CHUNK_BYTES = 2**20
"""Size of a chunk before encryption."""
NUMBER_BYTES = 16
TAG_BYTES = 16
HEADER_BYTES = len(MARK) + NAME_BYTES + NUMBER_BYTES + NAME_BYTES
ENCRYPTED_CHUNK_BYTES = NONCE_BYTES + CHUNK_BYTES + TAG_BYTES


class Vault:
    """Encrypts and decrypts the checkpoints of one space.

    Args:
        current: Returns the key for a new checkpoint.
        find: Returns the key with a name; None: it is destroyed.
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
        """Yield the bytes of the encrypted file with the content *pieces*."""
        key, number = self._current(), os.urandom(NUMBER_BYTES)
        cipher = cipher_of([key])
        header = MARK + key.name + number + self._newest()
        yield header
        for index, chunk in enumerate(_chunks(pieces)):
            nonce = os.urandom(NONCE_BYTES)
            yield nonce + cipher.encrypt(nonce, chunk, _authenticated_data(header, index))

    def opened(self, path: Path) -> io.BufferedReader:
        """Return a decrypting reader of an encrypted file; the caller closes it.

        Raises:
            Torn: It is not an encrypted file of this space, or its key is not available.
            OSError: It cannot be read.
        """
        file = path.open("rb")
        try:
            return self.decrypted(file)
        except BaseException:
            file.close()
            raise

    def decrypted(self, file: BinaryIO) -> io.BufferedReader:
        """Return a decrypting reader of an encrypted file, which closes that; errors as above."""
        header = file.read(HEADER_BYTES)
        return io.BufferedReader(_DecryptingReader(file, self._key(header), header), CHUNK_BYTES)

    def _key(self, header: bytes) -> Key:
        if len(header) != HEADER_BYTES or not header.startswith(MARK):
            raise Torn("it is not an encrypted checkpoint")
        try:
            key = self._find(header[len(MARK) :][:NAME_BYTES])
            self._find(header[-NAME_BYTES:])
        except KeysMissing as error:
            raise Torn("it is encrypted with another key file, or a newer one") from error
        if key is None:
            raise Torn("its key was destroyed when text was erased")
        return key


class _DecryptingReader(io.RawIOBase):
    """Raw reader of the decrypted content of a file."""

    def __init__(self, file: BinaryIO, key: Key, header: bytes) -> None:
        super().__init__()
        self._file = file
        self._cipher = cipher_of([key])
        self._header = header
        encrypted = file.seek(0, os.SEEK_END) - HEADER_BYTES
        chunks = -(-encrypted // ENCRYPTED_CHUNK_BYTES)
        self._length = max(0, encrypted - chunks * (NONCE_BYTES + TAG_BYTES))
        self._at = 0
        self._cached: tuple[int, bytes] = (-1, b"")
        """Index and content of the chunk that was decrypted last; -1: none yet."""

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
        index, start = divmod(self._at, CHUNK_BYTES)
        found = self._chunk(index)[start : start + len(buffer)]
        buffer[: len(found)] = found
        self._at += len(found)
        return len(found)

    def close(self) -> None:
        self._file.close()
        super().close()

    def _chunk(self, index: int) -> bytes:
        if self._cached[0] != index:
            self._file.seek(HEADER_BYTES + index * ENCRYPTED_CHUNK_BYTES)
            stored = self._file.read(ENCRYPTED_CHUNK_BYTES)
            nonce, ciphertext = stored[:NONCE_BYTES], stored[NONCE_BYTES:]
            try:
                plain = self._cipher.decrypt(
                    nonce, ciphertext, _authenticated_data(self._header, index)
                )
            except (InvalidTag, ValueError) as error:
                raise Torn("a chunk is not what was encrypted") from error
            self._cached = index, plain
        return self._cached[1]


def _chunks(pieces: Iterator[memoryview | bytes]) -> Iterator[bytes]:
    """Yield the bytes of *pieces* in chunks; all but the last are full."""
    buffer = bytearray()
    for piece in pieces:
        buffer += piece
        while len(buffer) >= CHUNK_BYTES:
            yield bytes(buffer[:CHUNK_BYTES])
            del buffer[:CHUNK_BYTES]
    if buffer:
        yield bytes(buffer)


def _authenticated_data(header: bytes, index: int) -> bytes:
    return header + index.to_bytes(8, "big")
