"""Real servers on loopback, each on a thread of its own."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, cast

import uvicorn
from anyio.from_thread import BlockingPortal, start_blocking_portal
from attrs import define, field, frozen

from mnemic.adapters.access import Keyring
from mnemic.adapters.access.scopes import Scope
from mnemic.adapters.hosting import Spaces
from mnemic.adapters.http.application import application
from mnemic.adapters.http.settings import Settings
from mnemic.kernel.ports import Store

EVERYTHING: Mapping[str, Scope] = {"*": "admin"}


@frozen(kw_only=True)
class Served:
    """A running server."""

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


@define
class Replaceable:
    """Proxy of an object that changes from test to test."""

    _target: Any = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._target, name)

    def become(self, target: Any) -> None:
        """Pass on to *target* from now on."""
        self._target = target


@define(eq=False)
class Listening:
    """A server on loopback whose spaces and tokens are replaced for each test."""

    stack: ExitStack
    spaces: Replaceable = field(factory=Replaceable)
    keyring: Replaceable = field(factory=Replaceable)
    portal: BlockingPortal = field(init=False)
    server: uvicorn.Server = field(init=False)
    address: str = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.portal = self.stack.enter_context(start_blocking_portal())
        app = application(cast("Spaces", self.spaces), cast("Keyring", self.keyring), Settings())
        # The protocol has to be named: else asyncio leaves Nagle's delay on, 40 ms to an answer.
        interface = self.stack.enter_context(socket.socket(proto=socket.IPPROTO_TCP))
        interface.bind(("127.0.0.1", 0))
        self.server = uvicorn.Server(
            uvicorn.Config(app, log_config=None, timeout_graceful_shutdown=5)
        )
        self.portal.call(_start, self.server, interface)
        self.stack.callback(self.portal.call, _stop, self.server)
        self.address = f"http://127.0.0.1:{interface.getsockname()[1]}"


class Servers:
    """Servers for one test after another: beginning one takes longer than most tests do.

    Args:
        stack: Ends all of them.
    """

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._free: list[Listening] = []

    @contextmanager
    def serving(
        self, folder: Path, store: Path | Store | None = None, **opening: Any
    ) -> Generator[Served]:
        """Serve the spaces of a store, until the end of the ``with`` block.

        Args:
            folder: Where its file and that of its tokens are made.
            store: Another one.
            opening: What ``SyncMemory.open`` takes besides.
        """
        server = self._free.pop() if self._free else Listening(self._stack)
        given: dict[str, Any] = {"synchronous": "normal", **opening}
        keyring = Keyring.open(folder / "tokens")
        portal = server.portal
        entering = portal.wrap_async_context_manager(Spaces(store or folder / "agent.db", **given))
        with entering as spaces:
            server.spaces.become(spaces)
            server.keyring.become(keyring)
            yield Served(address=server.address, keyring=keyring, portal=portal, spaces=spaces)
            portal.call(_hang_up, server.server)
        self._free.append(server)


@contextmanager
def serving(folder: Path, store: Path | Store | None = None, **opening: Any) -> Generator[Served]:
    """Serve the spaces of a store from a server of its own; see ``Servers.serving``."""
    with ExitStack() as stack, Servers(stack).serving(folder, store, **opening) as served:
        yield served


async def _start(server: uvicorn.Server, interface: socket.socket) -> None:
    server.config.load()
    server.lifespan = server.config.lifespan_class(server.config)
    await server.startup(sockets=[interface])


async def _hang_up(server: uvicorn.Server) -> None:
    """Close all connections, and wait until they are."""
    for connection in list(server.server_state.connections):
        connection.shutdown()
    while server.server_state.connections:  # noqa: ASYNC110 - they end at their next turn
        await asyncio.sleep(0)


async def _stop(server: uvicorn.Server) -> None:
    """Stop as uvicorn does, without its delay of a tenth of a second."""
    for listener in server.servers:
        listener.close()
    await _hang_up(server)
    await server.lifespan.shutdown()
