"""One client over a pipe: a memory is opened for it, and closed when it goes."""

from __future__ import annotations

import unicodedata
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import anyio
from attrs import define, field
from mcp.server.stdio import stdio_server

from mnemic.adapters.inprocess.memory import Memory
from mnemic.adapters.mcp.seats import Seat, Sessions, everything, reading
from mnemic.adapters.mcp.server import Context, server

ACTOR = "mcp"
"""Who acts where a client does not say its name."""
ACTOR_MAX = 64


@define(kw_only=True)
class OneClient:
    """A reception for a single client, whose name is known with its first request."""

    memory: Memory
    actor: str | None
    sessions: Sessions
    read_only: bool
    _seat: Seat | None = field(default=None, init=False)
    _taking: anyio.Lock = field(factory=anyio.Lock, init=False)

    async def seat(self, context: Context) -> Seat:
        """Return the one seat, under the name of the host's wish or of the client."""
        async with self._taking:
            if self._seat is None:
                actor = self.actor or name_of(context)
                self._seat = Seat(
                    memory=await self.memory.seat(actor=actor),
                    allows=reading if self.read_only else everything,
                    sessions=self.sessions,
                )
        return self._seat

    async def leave(self) -> None:
        """End the client's session, if one is open."""
        if self._seat is not None:
            await self._seat.leave()


def name_of(context: Context) -> str:
    """Return the name of a client, as the log can hold it."""
    said = context.session.client_params
    name = "" if said is None else said.client_info.name
    visible = "".join(
        char for char in name if not unicodedata.category(char).startswith(("C", "Z"))
    )
    return visible[:ACTOR_MAX] or ACTOR


def reception(
    memory: Callable[[], AbstractAsyncContextManager[Memory]],
    *,
    actor: str | None = None,
    sessions: Sessions = "auto",
    read_only: bool = False,
) -> Callable[[], AbstractAsyncContextManager[OneClient]]:
    """Return what opens a memory for one client, for ``server``.

    Args:
        memory: Opens it.
        actor: Who acts, as the log names it; None: the name that the client gives itself.
        sessions: Who begins sessions.
        read_only: Whether tools that write are left out; the memory may be one that nobody can
            write to.
    """

    @asynccontextmanager
    async def opened() -> AsyncGenerator[OneClient]:
        async with memory() as found:
            client = OneClient(memory=found, actor=actor, sessions=sessions, read_only=read_only)
            try:
                yield client
            finally:
                await client.leave()

    return opened


async def serve(opening: Callable[[], AbstractAsyncContextManager[OneClient]]) -> None:
    """Serve one client on standard input and output until it closes them, or until cancelled."""
    door = server(opening)
    async with stdio_server() as (incoming, outgoing):
        await door.run(incoming, outgoing, door.create_initialization_options())
