"""MCP over standard input and output: opens a memory for one client, and closes it at the end."""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
import unicodedata
from collections.abc import AsyncGenerator, AsyncIterable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from threading import Thread
from types import TracebackType
from typing import Any, Protocol, Self, TypeAlias, cast

import anyio
from anyio import from_thread, lowlevel
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from attrs import define, field
from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from mnemic.adapters.inprocess.memory import Memory
from mnemic.adapters.inprocess.registry import Scope
from mnemic.adapters.mcp.call_limiter import OF_A_PIPE, CallLimiter
from mnemic.adapters.mcp.server import Context
from mnemic.adapters.mcp.session_handles import (
    ClientHandle,
    Sessions,
    reading,
    up_to,
)
from mnemic.adapters.mcp.tools import ToolSet

ACTOR = "mcp"
"""The actor where a client gives no name."""
ACTOR_MAX = 64
REMEDY = "Ask the person who runs this server; `mnemic mcp --scope admin` allows it."
"""How a client over a pipe gets a wider scope."""
CHUNK = 1 << 16
"""Maximum number of bytes read at once."""

logger = logging.getLogger(__name__)


@define(kw_only=True)
class OneClient:
    """A ``Reception`` for a single client, whose name is known with its first request."""

    memory: Memory
    call_limiter: CallLimiter
    actor: str | None
    session: str | None
    sessions: Sessions
    scope: Scope
    tool_set: ToolSet
    read_only: bool
    _handle: ClientHandle | None = field(default=None, init=False)
    _taking: anyio.Lock = field(factory=anyio.Lock, init=False)

    async def session_handle(self, context: Context) -> ClientHandle:
        """Return the one session handle; its actor is set by the host or else by the client."""
        async with self._taking:
            if self._handle is None:
                actor = self.actor or name_of(context)
                self._handle = ClientHandle(
                    memory=await self.memory.session_handle(actor=actor, session=self.session),
                    call_limiter=self.call_limiter,
                    allows=reading if self.read_only else up_to(self.scope),
                    tool_set=self.tool_set,
                    remedy=REMEDY,
                    sessions="manual" if self.session else self.sessions,
                    read_only=self.read_only,
                )
        return self._handle

    async def leave(self) -> None:
        """End the client's session, if one is open."""
        if self._handle is not None:
            await self._handle.leave()


def name_of(context: Context) -> str:
    """Return the name of a client, reduced to characters that the log accepts in an actor."""
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
    scope: Scope = "write",
    tool_set: ToolSet = "core",
    read_only: bool = False,
) -> Callable[[], AbstractAsyncContextManager[OneClient]]:
    """Return a factory that opens a memory for one client, for ``server``.

    Args:
        memory: Opens the memory.
        actor: The actor in the log; None: the name that the client gives itself.
        session: An open session of the same actor to continue; it stays open.
        sessions: How sessions begin if *session* is not given.
        scope: What the client may do. ``write`` leaves out what cannot be undone or affects the
            whole space.
        tool_set: Which tools are listed.
        read_only: Whether tools that write are left out; the memory itself may be read-only.
    """

    @asynccontextmanager
    async def opened() -> AsyncGenerator[OneClient]:
        async with memory() as found:
            client = OneClient(
                memory=found,
                call_limiter=CallLimiter(OF_A_PIPE),
                actor=actor,
                session=session,
                sessions=sessions,
                scope=scope,
                tool_set=tool_set,
                read_only=read_only,
            )
            try:
                async with client.call_limiter.working():
                    yield client
            finally:
                await client.leave()

    return opened


async def serve(interface: Server[Any]) -> None:
    """Serve one client on standard input and output, until it closes them or a signal arrives.

    In both cases an open session is ended first.
    """
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_stop_on_signal, tasks.cancel_scope)
            with Wire() as wire:
                # The SDK takes over standard output, so that nothing else is written to the wire.
                async with (
                    stdio_server(stdin=cast("anyio.AsyncFile[str]", wire)) as (incoming, outgoing),
                    answering(incoming, outgoing) as messages,
                ):
                    await interface.run(
                        messages, outgoing, interface.create_initialization_options()
                    )
            tasks.cancel_scope.cancel()
    except* BrokenPipeError:
        logger.info("the client left before it had read all its answers")


async def _stop_on_signal(scope: anyio.CancelScope) -> None:
    if sys.platform == "win32":  # there, the parent process terminates this one outright
        return
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT, signal.SIGHUP) as signals:
        async for _ in signals:
            scope.cancel()
            return


class Wire:
    """Lines of standard input, read on a daemon thread that does not delay shutdown.

    The reader of the SDK would block shutdown until the client writes one more line. While this is
    open, any other reader finds standard input empty.
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
        """Pass on chunks as fast as they are consumed."""
        # Any other error here means that the event loop has ended meanwhile.
        with suppress(OSError, RuntimeError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            while chunk := os.read(self._fd, CHUNK):
                from_thread.run(outlet.send, chunk, token=token)
        with suppress(RuntimeError):
            from_thread.run_sync(outlet.close, token=token)


# --- unreadable lines -----------------------------------------------------------------------------


Received: TypeAlias = SessionMessage | Exception


class Outgoing(Protocol):
    """The stream to which messages are sent."""

    async def send(self, item: SessionMessage, /) -> None: ...


@asynccontextmanager
async def answering(
    incoming: AsyncIterable[Received], outgoing: Outgoing
) -> AsyncGenerator[MemoryObjectReceiveStream[Received]]:
    """Yield the messages of *incoming*; unreadable lines are answered on *outgoing* instead.

    The SDK drops what it cannot read, and the sender would wait forever. That happens to
    well-behaved clients: half of a surrogate pair, where a text was cut within an emoji, is valid
    JSON to most writers but not to the SDK's reader. Source: JSON-RPC 2.0, section 5.1.
    """
    inlet, outlet = anyio.create_memory_object_stream[Received](0)

    async def sort() -> None:
        async with inlet:
            async for received in incoming:
                if isinstance(received, ValidationError):
                    await outgoing.send(SessionMessage(refusal(received)))
                else:
                    await inlet.send(received)

    async with outlet, anyio.create_task_group() as tasks:
        tasks.start_soon(sort)
        yield outlet
        tasks.cancel_scope.cancel()


def refusal(error: ValidationError) -> types.JSONRPCError:
    """Return the error response to an unreadable line, with its request id if that can be found."""
    first = error.errors(include_url=False)[0]
    if first["type"] != "json_invalid":
        answer = types.ErrorData(
            code=types.INVALID_REQUEST, message="Not a message of JSON-RPC 2.0"
        )
        return types.JSONRPCError(jsonrpc="2.0", id=None, error=answer)
    answer = types.ErrorData(
        code=types.PARSE_ERROR,
        message=f"{first['msg']}. Texts must be whole Unicode (no half of a surrogate pair), and "
        "values not nested deeper than a hundred levels.",
    )
    return types.JSONRPCError(jsonrpc="2.0", id=_id(first["input"]), error=answer)


def _id(line: Any) -> int | str | None:
    """Return the request id in a line, as far as Python's more lenient JSON parser can read it."""
    try:
        message = json.loads(line)
    except (TypeError, ValueError, RecursionError):
        return None
    found = message.get("id") if isinstance(message, dict) else None
    if isinstance(found, bool) or not isinstance(found, int | str):
        return None
    is_whole = not any("\ud800" <= char <= "\udfff" for char in str(found))
    return found if is_whole else None
