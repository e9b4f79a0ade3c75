"""The MCP door under ``/mcp`` of the HTTP door: same spaces, same tokens, same limits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

from litestar import Litestar
from litestar.handlers import ASGIRouteHandler
from litestar.types import ControllerRouterHandler

from mnemic.adapters.http.calling import Desk

if TYPE_CHECKING:
    from mnemic.adapters.mcp.mounting import Mounted


class Agents:
    """The door, made when the desk is known and open while the application lives."""

    def __init__(self) -> None:
        self._door: Mounted | None = None
        self._stopping = asyncio.Event()

    def handlers(self, desk: Desk) -> Sequence[ControllerRouterHandler]:
        """Return the handler of everything under ``/mcp``; see ``application``."""
        from mnemic.adapters.mcp.mounting import LOOPBACK, PATH, asgi

        settings = desk.settings
        self._door = door = asgi(
            desk.spaces,
            desk.authenticate,
            read_only=settings.read_only,
            # Beyond this machine everybody shows a token, and a page that got here by a name of
            # its own has none to show.
            hosts=LOOPBACK if settings.is_on_loopback else None,
            origins=settings.origins,
            body_max=settings.body_max_bytes,
            workers=settings.workers,
        )
        self._stopping = desk.stopping

        async def served(scope: Any, receive: Any, send: Any) -> None:
            await door(scope, receive, send)

        return [ASGIRouteHandler(PATH, is_mount=True, copy_scope=True)(served)]

    @asynccontextmanager
    async def running(self, _: Litestar) -> AsyncGenerator[None]:
        """Keep the door open while the application lives; see ``application``."""
        assert self._door is not None  # noqa: S101 - handlers are made first
        async with self._door.running():
            watch = asyncio.create_task(self._stop_when_told(self._door))
            try:
                yield
            finally:
                watch.cancel()
                with suppress(asyncio.CancelledError):
                    await watch

    async def _stop_when_told(self, door: Mounted) -> None:
        await self._stopping.wait()
        door.stop()
