"""A real server on a loopback port, in a thread of the test's own, and streams read from it."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

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


class Event(NamedTuple):
    """One event of a stream, or a comment."""

    name: str
    data: Any
    id: str | None = None


COMMENT = "comment"


@frozen(kw_only=True)
class Running:
    """A running server, and a client with all permissions."""

    url: str
    store: Path
    keyring: Keyring
    server: uvicorn.Server
    loop: asyncio.AbstractEventLoop
    thread: threading.Thread

    def client(self, **scopes: Any) -> httpx.Client:
        """Return a client with a token of these scopes; by default all."""
        name = f"token {len(self.keyring.list())}"
        _, secret = self.keyring.create(name, scopes or {"*": "admin"})
        return self.anonymous(authorization=f"Bearer {secret}")

    @contextmanager
    def inside(self, space: str, scope: str = "admin") -> Generator[httpx.Client]:
        """Create a space, and return a client with paths relative to it."""
        with self.client() as admin:
            admin.put(f"/v1/spaces/{space}").raise_for_status()
        with self.client(**{space: scope}) as client:
            client.base_url = f"{self.url}/v1/spaces/{space}/"
            yield client

    def anonymous(self, **headers: str) -> httpx.Client:
        """Return a client without a token."""
        return httpx.Client(base_url=self.url, headers=headers, timeout=PATIENCE_S)

    def stop(self) -> None:
        """Stop the server as a signal would, and wait until it has stopped."""
        self.server.should_exit = True
        self.thread.join(PATIENCE_S)
        assert not self.thread.is_alive()


@contextmanager
def running(folder: Path, settings: Settings | None = None, **opening: Any) -> Generator[Running]:
    """Run a server over a store in *folder*, for a ``with`` block."""
    store = folder / "store.db"
    keyring = Keyring.open(folder / "tokens")
    opening.setdefault("embedder", HashEmbedder())
    ready = threading.Event()
    found: list[Any] = []

    async def run() -> None:
        def announce(url: str) -> None:
            found.extend([url, asyncio.get_running_loop()])
            ready.set()

        await serve(
            Spaces(store, **opening),
            keyring,
            evolve(settings or Settings(), port=0),
            announce=announce,
            begun=found.append,
        )

    thread = threading.Thread(target=lambda: asyncio.run(run()))
    thread.start()
    try:
        assert ready.wait(PATIENCE_S)
        server, url, loop = found
        yield Running(
            url=url, store=store, keyring=keyring, server=server, loop=loop, thread=thread
        )
    finally:
        if found:
            found[0].should_exit = True
        thread.join(PATIENCE_S)


def events(lines: Iterator[str]) -> Iterator[Event]:
    """Read a stream as its client would, comments included."""
    fields: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(":")
        if not line and "event" in fields:
            yield Event(fields["event"], json.loads(fields["data"]), fields.get("id"))
        elif line and not name:
            yield Event(COMMENT, value.strip())
        fields = {**fields, name: value.strip()} if line else {}


@contextmanager
def stream(client: httpx.Client, path: str, **options: Any) -> Generator[Iterator[Event]]:
    """Open a stream, for a ``with`` block."""
    with client.stream(options.pop("method", "GET"), path, **options) as response:
        assert response.status_code == 200, response.read()
        assert response.headers["content-type"] == "text/event-stream"
        yield events(response.iter_lines())


def take(source: Iterator[Event], count: int) -> list[Event]:
    """Return the next *count* events of a stream."""
    return [next(source) for _ in range(count)]
