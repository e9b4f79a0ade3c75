"""Responses sent in pieces, because they are produced over time or too large to hold in memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from typing import Any

import anyio
from attrs import field, frozen

HEAD = "HEAD"
STALL_S = 60.0
"""How long a client may leave a piece unread before the response is aborted."""
STOP_S = 1.0
"""The same once the server stops, for responses that never end by themselves."""


def _nothing() -> None:
    """Do nothing."""


@frozen(kw_only=True)
class Pieces:
    """A response in pieces, which is an ASGI application that sends itself.

    The next piece is requested only when the previous one has been sent, so a slow reader costs one
    piece, and the few kilobytes that the server buffers. When the client disconnects, or reads
    nothing for a minute, the generator of the pieces is cancelled where it waits.
    """

    pieces: Callable[[], AsyncGenerator[bytes]]
    """Generates them. An error in it truncates the response, so it should handle its own errors."""
    status: int = 200
    headers: Mapping[str, str] = field(factory=dict)
    stopping: asyncio.Event | None = None
    """For endless pieces: set when they should end. None: they end by themselves."""
    done: Callable[[], None] = _nothing
    """Called once, after success and failure alike."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Send it; for HEAD without its body."""
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
    """Cancel sending when the client disconnects."""
    while (await receive())["type"] != "http.disconnect":
        pass
    sending.cancel()


async def _until_stopped(stopping: asyncio.Event, sending: anyio.CancelScope) -> None:
    """Cancel sending some time after the server stops, for a client that reads nothing."""
    await stopping.wait()
    await anyio.sleep(STOP_S)
    sending.cancel()
