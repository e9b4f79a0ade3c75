"""Random bytes, and reproducible bytes for tests."""

from __future__ import annotations

import hashlib
import os
from itertools import count


class SystemEntropy:
    """The operating system's random source."""

    def token(self, size: int) -> bytes:
        """Return *size* fresh bytes."""
        return os.urandom(size)


class SeededEntropy:
    """The same bytes in the same order for the same seed. For tests and golden files only.

    Args:
        seed: Any text; two seeds share no bytes.
    """

    def __init__(self, seed: str = "") -> None:
        self._seed = seed
        self._calls = count()

    def token(self, size: int) -> bytes:
        """Return the next *size* bytes: blocks of SHA-256 over seed, call and block number."""
        call = next(self._calls)
        blocks = (
            hashlib.sha256(f"{call}/{block}/{self._seed}".encode()).digest()
            for block in range((size + 31) // 32)
        )
        return b"".join(blocks)[:size]
