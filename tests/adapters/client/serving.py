"""A real server on loopback, on a thread of its own, for as long as a test needs it."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn
from anyio.from_thread import BlockingPortal, start_blocking_portal
from attrs import frozen

from mnemic.adapters.access import Keyring
from mnemic.adapters.access.scopes import Scope
from mnemic.adapters.hosting import Spaces
from mnemic.adapters.http.application import application
from mnemic.adapters.http.settings import Settings
from mnemic.kernel.ports import Store

EVERYTHING: Mapping[str, Scope] = {"*": "admin"}


@frozen(kw_only=True)
class Served:
    """A server that runs."""

    address: str
    keyring: Keyring
    portal: BlockingPortal
    spaces: Spaces

    def token(self, name: str = "agent", scopes: Mapping[str, Scope] | None = None) -> str:
        """Return the secret of a new token."""
        _, secret = self.keyring.create(name, scopes or EVERYTHING)
        return secret

    def make(self, space: str = "default") -> None:
        """Make a space."""
        self.portal.call(self.spaces.make, space)


@contextmanager
def serving(folder: Path, store: Path | Store | None = None, **opening: Any) -> Generator[Served]:
    """Serve the spaces of a store, until the end of the ``with`` block.

    Args:
        folder: Where its file and that of its tokens are made.
        store: Another one.
        opening: What ``SyncMemory.open`` takes besides.
    """
    given: dict[str, Any] = {"synchronous": "normal", **opening}
    keyring = Keyring.open(folder / "tokens")
    with start_blocking_portal() as portal:
        entering = portal.wrap_async_context_manager(Spaces(store or folder / "agent.db", **given))
        with entering as spaces, listening(application(spaces, keyring, Settings()), portal) as at:
            yield Served(address=at, keyring=keyring, portal=portal, spaces=spaces)


@contextmanager
def listening(app: Any, portal: BlockingPortal) -> Generator[str]:
    """Let *app* listen on loopback, and yield its address."""
    # The protocol has to be named: else asyncio leaves Nagle's delay on, 40 ms to an answer.
    with socket.socket(proto=socket.IPPROTO_TCP) as door:
        door.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(app, log_config=None, timeout_graceful_shutdown=5))
        portal.call(_start, server, door)
        try:
            yield f"http://127.0.0.1:{door.getsockname()[1]}"
        finally:
            portal.call(_stop, server)


async def _start(server: uvicorn.Server, door: socket.socket) -> None:
    server.config.load()
    server.lifespan = server.config.lifespan_class(server.config)
    await server.startup(sockets=[door])


async def _stop(server: uvicorn.Server) -> None:
    """Stop as uvicorn does, without the tenth of a second that it waits to be polite."""
    for listener in server.servers:
        listener.close()
    for connection in list(server.server_state.connections):
        connection.shutdown()
    while server.server_state.connections:  # noqa: ASYNC110 - they end at their next turn
        await asyncio.sleep(0)
    await server.lifespan.shutdown()
