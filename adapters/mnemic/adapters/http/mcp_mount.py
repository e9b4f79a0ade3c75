"""The MCP interface under ``/mcp`` of the HTTP interface: same spaces, tokens and limits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from litestar import Litestar
from litestar.handlers import ASGIRouteHandler
from litestar.types import ControllerRouterHandler

from mnemic.adapters.http.endpoints.dispatch import Dispatcher
from mnemic.adapters.http.messages import requests
from mnemic.adapters.http.middleware.observation import AGENTS
from mnemic.adapters.http.middleware.request_ids import LOG
from mnemic.adapters.http.processes.proxy import Application, WorkerProxy

if TYPE_CHECKING:
    from mnemic.adapters.mcp.client_sessions import ClientVisit
    from mnemic.adapters.mcp.http_transport import Mounted


def load() -> None:
    """Import the modules of the interface, which takes a second or two."""
    from mnemic.adapters.mcp import http_transport

    LOG.debug("the MCP interface is served below %s", http_transport.PATH)


class Agents:
    """The MCP interface, created from the dispatcher and open while the application lives."""

    def __init__(self) -> None:
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
            elsewhere=None
            if dispatcher.proxy is None
            else partial(_elsewhere, dispatcher, dispatcher.proxy),
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


def _elsewhere(
    dispatcher: Dispatcher, proxy: WorkerProxy, visit: ClientVisit
) -> Application | None:
    """Return the application that forwards to the process of a visit; None: it is this process.

    A session handle lives in one process, and so does a session of the protocol. All requests that
    come with one token for one space go to the same process.
    """
    number = proxy.home(visit.owner, visit.space)
    if number == proxy.worker_slot.number:
        return None

    async def pass_on(scope: Any, receive: Any, send: Any) -> None:
        body = await requests.body(scope, receive, dispatcher.settings)
        await proxy.pass_on(number, scope, receive, send, body=body)

    return pass_on
