"""The MCP interface under ``/mcp`` of the HTTP interface: same spaces, tokens and limits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from litestar import Litestar
from litestar.handlers import ASGIRouteHandler
from litestar.types import ControllerRouterHandler

from mnemic.adapters.access import Keyring
from mnemic.adapters.hosting import Spaces
from mnemic.adapters.http.application import During, application
from mnemic.adapters.http.endpoints.dispatch import Dispatcher
from mnemic.adapters.http.endpoints.leaders import PassedOn, answer_of_leader
from mnemic.adapters.http.middleware.observation import AGENTS, Observer
from mnemic.adapters.http.middleware.request_ids import RequestMiddleware
from mnemic.adapters.http.settings import Settings

if TYPE_CHECKING:
    from mnemic.adapters.mcp.http_transport import Application, Message, Mounted


def with_mcp(
    spaces: Spaces,
    keyring: Keyring,
    settings: Settings,
    *,
    observers: Sequence[Observer] = (),
    around: Sequence[During] = (),
    stateless: bool = False,
) -> RequestMiddleware:
    """Return the HTTP interface to *spaces*, with the MCP interface if its extra is installed.

    Args:
        spaces: See ``application``.
        keyring: Tokens that may be used.
        settings: Of the server.
        observers: Observe every request.
        around: Context managers to enter while the application lives, before everything else.
        stateless: Whether agents get no protocol session, so that each of several processes can
            serve any of their requests. In a cluster they get none.
    """
    if find_spec("mcp") is None:
        return application(spaces, keyring, settings, observers=observers, around=around)
    agents = Agents(stateless=stateless or spaces.is_in_cluster)
    return application(
        spaces,
        keyring,
        settings,
        extra=[agents.handlers],
        around=around,
        during=[agents.running],
        observers=observers,
    )


class Agents:
    """The MCP interface, created from the dispatcher and open while the application lives."""

    def __init__(self, *, stateless: bool) -> None:
        self._stateless = stateless
        self._interface: Mounted | None = None
        self._stopping = asyncio.Event()

    def handlers(self, dispatcher: Dispatcher) -> Sequence[ControllerRouterHandler]:
        """Return the handler of everything under ``/mcp``; see ``application``."""
        from mnemic.adapters.mcp.call_limiter import Limits
        from mnemic.adapters.mcp.http_transport import LOOPBACK, PATH, asgi

        settings = dispatcher.settings
        self._interface = interface = asgi(
            dispatcher.spaces,
            dispatcher.authenticate,
            read_only=settings.read_only,
            tool_set=settings.tools,
            # On an address that other machines can reach every request needs a token, and a page
            # that got here by DNS rebinding has none.
            hosts=LOOPBACK if settings.is_on_loopback else None,
            origins=settings.origins,
            limits=Limits(
                body_max_bytes=settings.body_max_bytes,
                body_timeout_s=settings.body_timeout_s,
                calls_max=settings.threads,
                waiting_max=settings.waiting_max,
                call_timeout_s=settings.call_timeout_s,
                long_timeout_s=settings.long_timeout_s,
                listeners_max=settings.streams_max,
                retry_after_s=settings.retry_after_s,
            ),
            stateless=self._stateless,
            pass_on=partial(_passed_on, dispatcher) if dispatcher.spaces.is_in_cluster else None,
        )
        self._stopping = dispatcher.stopping

        async def served(scope: Any, receive: Any, send: Any) -> None:
            await interface(scope, receive, send)

        return [ASGIRouteHandler(PATH, is_mount=True, copy_scope=True, name=AGENTS)(served)]

    @asynccontextmanager
    async def running(self, _: Litestar) -> AsyncGenerator[None]:
        """Keep the interface open while the application lives; see ``application``."""
        assert self._interface is not None  # noqa: S101 - handlers are made first
        async with self._interface.running():
            watch = asyncio.create_task(self._stop_with_server(self._interface))
            try:
                yield
            finally:
                watch.cancel()
                with suppress(asyncio.CancelledError):
                    await watch

    async def _stop_with_server(self, interface: Mounted) -> None:
        await self._stopping.wait()
        interface.stop()


async def _passed_on(dispatcher: Dispatcher, scope: Any, message: Message) -> Application | None:
    """Return what the host that leads the space answers to a message; None: this host does."""
    from mnemic.adapters.mcp.http_transport import path_of

    settings = dispatcher.settings
    request = PassedOn(
        space=message.space,
        scope=scope,
        address=path_of(message.space),
        body=message.body,
        timeout_s=settings.long_timeout_s if message.is_long else settings.call_timeout_s,
    )
    return await answer_of_leader(dispatcher.spaces, request, dispatcher.forwarding)
