"""A real server on a loopback port, in a thread of the test."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from attrs import evolve, frozen

from mnemic.adapters.access import Keyring
from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.hosting import Spaces
from mnemic.adapters.http.server import Server, serve
from mnemic.adapters.http.settings import Settings

PATIENCE_S = 20.0
"""How long a test waits for what should be there at once, before it fails."""


@frozen(kw_only=True)
class Served:
    """A server, and where it can be asked."""

    url: str
    store: Path
    secret: str
    server: Server
    thread: threading.Thread

    def client(self) -> httpx.Client:
        """Return somebody who may do everything."""
        headers = {"authorization": f"Bearer {self.secret}"}
        return httpx.Client(base_url=self.url, headers=headers, timeout=PATIENCE_S)

    def connect(self) -> socket.socket:
        """Return a bare connection."""
        port = int(self.url.rpartition(":")[2])
        return socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)

    def stop(self) -> None:
        """Tell the server to stop, as a signal would, and wait until it has."""
        self.server.should_exit = True
        self.thread.join(PATIENCE_S)
        assert not self.thread.is_alive()


@contextmanager
def served(folder: Path, settings: Settings | None = None, **opening: Any) -> Generator[Served]:
    """Serve a store in *folder* for a ``with`` block."""
    keyring = Keyring.open(folder / "tokens")
    _, secret = keyring.create("root", {"*": "admin"})
    opening = {"embedder": HashEmbedder(), "synchronous": "normal", **opening}
    listens = threading.Event()
    found: dict[str, Any] = {}

    def announce(url: str) -> None:
        found["url"] = url
        listens.set()

    async def run() -> None:
        spaces = Spaces(folder / "store.db", **opening)
        here = evolve(settings or Settings(), port=0)
        await serve(
            spaces,
            keyring,
            here,
            announce=announce,
            begun=lambda server: found.update(server=server),
        )

    thread = threading.Thread(target=lambda: asyncio.run(run()))
    thread.start()
    assert listens.wait(PATIENCE_S)
    it = Served(**found, store=folder / "store.db", secret=secret, thread=thread)
    try:
        yield it
    finally:
        it.stop()
