"""A program that moves a memory to another embedder and is killed before its third chunk.

``reembedder.py FILE`` prints nothing: it never gets that far.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from typing import Any

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.kernel.events import EmbedderIdentity

CHUNKS = 2


class Deadly:
    """Embeds like another one, a few times, and then kills the process."""

    def __init__(self, behind: HashEmbedder) -> None:
        self._behind = behind
        self._left = CHUNKS

    @property
    def identity(self) -> EmbedderIdentity:
        return self._behind.identity

    def embed(self, texts: Sequence[str]) -> Any:
        if not self._left:
            os.kill(os.getpid(), signal.SIGKILL)
        self._left -= 1
        return self._behind.embed(texts)


if __name__ == "__main__":
    with SyncMemory.open(sys.argv[1], embedder=HashEmbedder(32)) as memory:
        memory.reembed(Deadly(HashEmbedder(64)))
