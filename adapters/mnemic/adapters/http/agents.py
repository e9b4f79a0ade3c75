"""The MCP door under ``/mcp`` of the HTTP door: same spaces, same tokens, same limits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from litestar import Litestar
from litestar.handlers import ASGIRouteHandler
from litestar.types import ControllerRouterHandler

from mnemic.adapters.http import reading
from mnemic.adapters.http.calling import Desk
from mnemic.adapters.http.front import LOG
from mnemic.adapters.http.observing import AGENTS
from mnemic.adapters.http.relays import Application, Relays

if TYPE_CHECKING:
    from mnemic.adapters.mcp.guests import Visit
    from mnemic.adapters.mcp.mounting import Mounted


def load() -> None:
    """Load what the door is made of, which takes a second or two."""
    from mnemic.adapters.mcp import mounting

    LOG.debug("agents are served below %s", mounting.PATH)


class Agents:
    """The door, made when the desk is known and open while the application lives."""

    def __init__(self) -> None:
        self._door: Mounted | None = None
        self._stopping = asyncio.Event()

    def handlers(self, desk: Desk) -> Sequence[ControllerRouterHandler]:
        """Return the handler of everything under ``/mcp``; see ``application``."""
        from mnemic.adapters.mcp.limits import Limits
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
            elsewhere=None if desk.relays is None else partial(_elsewhere, desk, desk.relays),
        )
        self._stopping = desk.stopping

        async def served(scope: Any, receive: Any, send: Any) -> None:
            await door(scope, receive, send)

        return [ASGIRouteHandler(PATH, is_mount=True, copy_scope=True, name=AGENTS)(served)]

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


def _elsewhere(desk: Desk, relays: Relays, visit: Visit) -> Application | None:
    """Return the way to the process that a visit belongs to; None: this one.

    A seat lives in one process, and so does a session of the protocol. All that comes with one
    token for one space goes to the same of them.
    """
    number = relays.home(visit.owner, visit.space)
    if number == relays.post.number:
        return None

    async def pass_on(scope: Any, receive: Any, send: Any) -> None:
        body = await reading.body(scope, receive, desk.settings)
        await relays.pass_on(number, scope, receive, send, body=body)

    return pass_on
