"""A real server on a loopback port, with the MCP interface mounted under ``/mcp``."""

from __future__ import annotations

import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import uvicorn
from attrs import frozen
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from mnemic.adapters.access import Keyring
from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.hosting import Spaces
from mnemic.adapters.http.middleware.security import authentication
from mnemic.adapters.http.settings import Settings
from mnemic.adapters.mcp.http_transport import Mounted, asgi
from mnemic.adapters.system.clocks import ManualClock
from mnemic.kernel.ports import Embedder


@frozen(kw_only=True)
class Served:
    """A running server, and the spaces that it serves."""

    url: str
    spaces: Spaces
    keyring: Keyring
    interface: Mounted

    def token(self, name: str, *, zone: str | None = None, **scopes: Any) -> str:
        """Make a token and return its secret."""
        return self.keyring.create(name, scopes, zone=zone)[1]


@asynccontextmanager
async def served(
    folder: Path,
    *,
    spaces: tuple[str, ...] = ("default",),
    embedder: Embedder | None = None,
    **interface: Any,
) -> AsyncGenerator[Served]:
    """Serve spaces of a store in a folder."""
    keyring = Keyring.open(folder / "tokens")
    opened = Spaces(folder / "agent.db", embedder=embedder or HashEmbedder(), clock=ManualClock())
    async with opened as known:
        for space in spaces:
            await known.make(space)
        mounted = asgi(known, authentication(keyring, Settings()), **interface)
        config = uvicorn.Config(mounted, lifespan="off", log_config=None)
        server = uvicorn.Server(config)
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            url = f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
            async with mounted.running(), anyio.create_task_group() as tasks:
                tasks.start_soon(server.serve, [listener])
                try:
                    yield Served(url=url, spaces=known, keyring=keyring, interface=mounted)
                finally:
                    mounted.stop()
                    server.should_exit = True


@asynccontextmanager
async def visiting(url: str, secret: str | None, **client: Any) -> AsyncGenerator[Client]:
    """Connect a client of the SDK over HTTP, with a token."""
    headers = {} if secret is None else {"Authorization": f"Bearer {secret}"}
    async with (
        create_mcp_http_client(headers=headers) as http,
        Client(streamable_http_client(url, http_client=http), **client) as connected,
    ):
        yield connected
