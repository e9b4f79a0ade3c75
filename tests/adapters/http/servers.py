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
import uvicorn
from attrs import evolve, frozen

from mnemic.adapters.access import Keyring
from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.hosting import Spaces
from mnemic.adapters.http.server import serve
from mnemic.adapters.http.settings import Settings

PATIENCE_S = 20.0
"""Timeout of a test for results that should be there at once."""


@frozen(kw_only=True)
class Served:
    """A running server and its address."""

    url: str
    store: Path
    secret: str
    server: uvicorn.Server
    loop: asyncio.AbstractEventLoop
    thread: threading.Thread

    def client(self) -> httpx.Client:
        """Return a client with all permissions."""
        headers = {"authorization": f"Bearer {self.secret}"}
        return httpx.Client(base_url=self.url, headers=headers, timeout=PATIENCE_S)

    def connect(self) -> socket.socket:
        """Return a plain connection."""
        port = int(self.url.rpartition(":")[2])
        return socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)

    @contextmanager
    def busy(self) -> Generator[None]:
        """Block the server's event loop during a ``with`` block.

        Requests sent in the meantime are then all processed together.
        """
        is_held, go_on = threading.Event(), threading.Event()

        def hold() -> None:
            is_held.set()
            go_on.wait(PATIENCE_S)

        self.loop.call_soon_threadsafe(hold)
        try:
            assert is_held.wait(PATIENCE_S)
            yield
        finally:
            go_on.set()

    def stop(self) -> None:
        """Stop the server as a signal would, and wait until it has stopped."""
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
        found.update(url=url, loop=asyncio.get_running_loop())
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
