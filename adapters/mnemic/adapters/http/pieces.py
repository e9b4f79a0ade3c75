"""Answers that go out in pieces: as they come, or because they are too large to hold."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from typing import Any

import anyio
from attrs import field, frozen

HEAD = "HEAD"
STALL_S = 60.0
"""How long a reader may leave a piece lying before it is given up."""
STOP_S = 1.0
"""The same once the server stops, for what never ends by itself."""


def _nothing() -> None:
    """Do nothing."""


@frozen(kw_only=True)
class Pieces:
    """An answer in pieces. As an ASGI application it sends itself.

    Each piece is asked for when the one before has been taken off our hands, so a slow reader costs
    one piece, and the few kilobytes that the server puts between. When the reader goes, or takes
    nothing for a minute, whatever makes the pieces is cancelled where it waits.
    """

    pieces: Callable[[], AsyncGenerator[bytes]]
    """Makes them. Its errors cut the answer short: their place is inside, where there is one."""
    status: int = 200
    headers: Mapping[str, str] = field(factory=dict)
    stopping: asyncio.Event | None = None
    """For pieces that come for ever: set when they should end. None: they end by themselves."""
    done: Callable[[], None] = _nothing
    """Called once, whatever has happened."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Send it; to HEAD without its body."""
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_until_gone, receive, tasks.cancel_scope)
                if self.stopping is not None:
                    tasks.start_soon(_until_stopped, self.stopping, tasks.cancel_scope)
                await self._send(scope, send)
                tasks.cancel_scope.cancel()
        finally:
            self.done()

    async def _send(self, scope: Any, send: Any) -> None:
        headers = [(name.encode(), value.encode("latin-1")) for name, value in self.headers.items()]
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        if scope["method"] != HEAD:
            async with aclosing(self.pieces()) as pieces:
                async for piece in pieces:
                    with anyio.move_on_after(STALL_S) as taken:
                        await send({"type": "http.response.body", "body": piece, "more_body": True})
                    if taken.cancelled_caught:
                        return
        await send({"type": "http.response.body", "body": b""})


async def _until_gone(receive: Any, sending: anyio.CancelScope) -> None:
    """Wait until whoever reads has gone, and let nothing more be sent."""
    while (await receive())["type"] != "http.disconnect":
        pass
    sending.cancel()


async def _until_stopped(stopping: asyncio.Event, sending: anyio.CancelScope) -> None:
    """Wait until the server stops, and let nothing more be sent to a reader who takes nothing."""
    await stopping.wait()
    await anyio.sleep(STOP_S)
    sending.cancel()
