"""An embedder that blocks an operation until a test releases it."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import anyio

from mnemic.adapters.embedders.hashing import HashEmbedder

PATIENCE_S = 20.0
"""A loop that waits for its own thread would wait for ever; this ends the test instead."""


class Barrier:
    """The hash embedder behind a gate: it signals that it was called, and waits to be released."""

    identity = HashEmbedder().identity

    def __init__(self) -> None:
        self.reached = threading.Event()
        self.opened = threading.Event()

    def embed(self, texts: Sequence[str]) -> Any:
        self.reached.set()
        assert self.opened.wait(PATIENCE_S)
        return HashEmbedder().embed(texts)

    async def wait_until_reached(self) -> None:
        assert await anyio.to_thread.run_sync(self.reached.wait, PATIENCE_S)
