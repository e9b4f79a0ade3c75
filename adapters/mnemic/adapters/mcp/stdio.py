"""One client over a pipe: a memory is opened for it, and closed when it goes."""

from __future__ import annotations

import logging
import os
import signal
import sys
import unicodedata
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from threading import Thread
from types import TracebackType
from typing import Self, cast

import anyio
from anyio import from_thread, lowlevel
from anyio.streams.memory import MemoryObjectSendStream
from attrs import define, field
from mcp.server.stdio import stdio_server

from mnemic.adapters.inprocess.memory import Memory
from mnemic.adapters.mcp.crew import Crew
from mnemic.adapters.mcp.garbled import answering
from mnemic.adapters.mcp.limits import OF_A_PIPE
from mnemic.adapters.mcp.seats import Seat, Sessions, everything, reading
from mnemic.adapters.mcp.server import Context, server

ACTOR = "mcp"
"""Who acts where a client does not say its name."""
ACTOR_MAX = 64
CHUNK = 1 << 16
"""Bytes that are read at once."""

logger = logging.getLogger(__name__)


@define(kw_only=True)
class OneClient:
    """A reception for a single client, whose name is known with its first request."""

    memory: Memory
    crew: Crew
    actor: str | None
    session: str | None
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
                    memory=await self.memory.seat(actor=actor, session=self.session),
                    crew=self.crew,
                    allows=reading if self.read_only else everything,
                    sessions="manual" if self.session else self.sessions,
                    read_only=self.read_only,
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
    session: str | None = None,
    sessions: Sessions = "auto",
    read_only: bool = False,
) -> Callable[[], AbstractAsyncContextManager[OneClient]]:
    """Return what opens a memory for one client, for ``server``.

    Args:
        memory: Opens it.
        actor: Who acts, as the log names it; None: the name that the client gives itself.
        session: Go on with this open session, which the same actor began; it stays open.
        sessions: Who begins sessions, if not.
        read_only: Whether tools that write are left out; the memory may be one that nobody can
            write to.
    """

    @asynccontextmanager
    async def opened() -> AsyncGenerator[OneClient]:
        async with memory() as found:
            client = OneClient(
                memory=found,
                crew=Crew(OF_A_PIPE),
                actor=actor,
                session=session,
                sessions=sessions,
                read_only=read_only,
            )
            try:
                async with client.crew.working():
                    yield client
            finally:
                await client.leave()

    return opened


async def serve(opening: Callable[[], AbstractAsyncContextManager[OneClient]]) -> None:
    """Serve one client on standard input and output, until it closes them or we are told to stop.

    Whichever comes, the session that stands open is ended first.
    """
    door = server(opening)
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_stop_when_told, tasks.cancel_scope)
            with Wire() as wire:
                # The SDK takes standard output for itself, so that nothing else gets onto the wire.
                async with (
                    stdio_server(stdin=cast("anyio.AsyncFile[str]", wire)) as (incoming, outgoing),
                    answering(incoming, outgoing) as messages,
                ):
                    await door.run(messages, outgoing, door.create_initialization_options())
            tasks.cancel_scope.cancel()
    except* BrokenPipeError:
        logger.info("the client went before it had read all its answers")


async def _stop_when_told(scope: anyio.CancelScope) -> None:
    if sys.platform == "win32":  # there, whoever started us ends us as a whole
        return
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT, signal.SIGHUP) as signals:
        async for _ in signals:
            scope.cancel()
            return


class Wire:
    """Lines of standard input, read on a thread that nobody waits for once we are told to stop.

    The reader of the SDK would hold us until the client writes one more line. While this is open,
    standard input is empty for whatever else might read it.
    """

    def __enter__(self) -> Self:
        self._fd = os.dup(0)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # The descriptor stays open: the thread may still read from it, and must not read from
        # another file that happens to get its number.
        os.dup2(self._fd, 0)

    async def __aiter__(self) -> AsyncGenerator[str]:
        """Yield lines until the client closes its end."""
        outlet, inlet = anyio.create_memory_object_stream[bytes](0)
        token = lowlevel.current_token()
        Thread(target=self._read, args=(outlet, token), daemon=True, name="mnemic wire").start()
        rest = b""
        async with inlet:
            async for chunk in inlet:
                *lines, rest = (rest + chunk).split(b"\n")
                for line in filter(bytes.strip, lines):
                    yield line.decode("utf-8", errors="replace")
        if rest:
            yield rest.decode("utf-8", errors="replace")

    def _read(self, outlet: MemoryObjectSendStream[bytes], token: lowlevel.EventLoopToken) -> None:
        """Hand on what comes, as fast as it is taken."""
        # Whatever else goes wrong here means that the loop has ended meanwhile.
        with suppress(OSError, RuntimeError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            while chunk := os.read(self._fd, CHUNK):
                from_thread.run(outlet.send, chunk, token=token)
        with suppress(RuntimeError):
            from_thread.run_sync(outlet.close, token=token)
