"""Forwarding of requests from one worker process to another.

State that belongs to one process, such as the session handle of an agent, lives in a single
process. Any other process that receives a request for it forwards the request unchanged, and
returns the response as it arrives. Requests travel over a socket that only this user can reach; the
receiving process checks permissions again.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from http import HTTPStatus
from typing import Any, TypeAlias
from zlib import crc32

import uvicorn
from anyio import CancelScope, create_task_group
from attrs import frozen
from httptools import HttpParserError, HttpResponseParser
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from mnemic.adapters.http.middleware.request_ids import REQUEST_ID
from mnemic.adapters.http.processes.worker_slots import WorkerSlot
from mnemic.adapters.http.settings import Settings
from mnemic.adapters.remote.transport_errors import Overdue, Overloaded

Application = Callable[[Any, Any, Any], Awaitable[None]]
_Line: TypeAlias = tuple[asyncio.StreamReader, asyncio.StreamWriter]

PEER = b"x-mnemic-peer"
"""Header with the client's address; only used and trusted between worker processes."""
GONE = "the process that this agent's session handle is in has just gone"
PIECE_BYTES = 64 * 1024
OF_A_CONNECTION = frozenset(
    {b"connection", b"keep-alive", b"transfer-encoding", b"content-length", b"expect", b"upgrade"}
)
"""Request headers that are not forwarded. Source: RFC 9110, section 7.6.1."""
OF_AN_ANSWER = frozenset({b"connection", b"keep-alive", b"transfer-encoding"})
ASK_S = 3.0
"""How long another process may take for a plain GET. Prometheus itself waits for 10 s."""
ASIDE_S = 5.0
"""How long forwarded requests may take to end when this process stops."""


@frozen(kw_only=True)
class WorkerProxy:
    """Forwards requests from one process to the others."""

    worker_slot: WorkerSlot
    settings: Settings

    def home(self, owner: str, space: str) -> int:
        """Return the number of the process that holds an owner's session handle in a space."""
        return crc32(f"{owner}\0{space}".encode()) % self.worker_slot.count

    async def pass_on(
        self, number: int, scope: Any, receive: Any, send: Any, *, body: bytes
    ) -> None:
        """Forward a request to another process and send its response.

        Args:
            number: The worker number of the other process.
            scope: ASGI scope of the request.
            receive: Reports when the client disconnects.
            send: Takes the messages of the response.
            body: The complete body of the request.

        Raises:
            Overloaded: The other process cannot be reached.
            Overdue: It closed the connection before it answered, and may have done what was
                requested.
        """
        is_asked = said = False

        async def answered() -> None:
            nonlocal is_asked, said
            async with self._line(number) as line:
                is_asked = True
                async for message in _answered(*line, _request(scope, body)):
                    said = True
                    await send(message)

        try:
            async with create_task_group() as tasks:
                tasks.start_soon(_cancel_on_disconnect, receive, tasks.cancel_scope)
                await answered()
                tasks.cancel_scope.cancel()
        except* (OSError, HttpParserError) as errors:
            if not is_asked:
                raise Overloaded(f"{GONE}; another takes over") from errors
            if not said:  # otherwise the response ends early, which the client can see
                raise Overdue(f"{GONE}, and may have done what it was asked") from errors

    async def ask(self, number: int, path: str) -> bytes:
        """Return what another process answers to a plain GET.

        Raises:
            OSError, HttpParserError: It cannot be reached, or is stuck, or refuses.
        """
        asked = _head(b"GET", path.encode(), [(b"host", b"here")])
        async with asyncio.timeout(min(ASK_S, self.settings.call_timeout_s)):
            async with self._line(number) as line:
                start, *parts = [message async for message in _answered(*line, asked)]
        if start["status"] != HTTPStatus.OK:
            raise ConnectionRefusedError(f"it answers with {start['status']}")
        return b"".join(part["body"] for part in parts)

    @asynccontextmanager
    async def _line(self, number: int) -> AsyncGenerator[_Line]:
        """Connect to another process, for an ``async with`` block."""
        reader, writer = await asyncio.open_unix_connection(self.worker_slot.peer_paths[number])
        try:
            yield reader, writer
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()


async def _answered(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes
) -> AsyncGenerator[dict[str, Any]]:
    """Send a request to another process, and yield its response as ASGI messages."""
    writer.write(request)
    await writer.drain()
    answer = _Answer()
    while not answer.is_whole:
        piece = await reader.read(PIECE_BYTES)
        if not piece:
            raise ConnectionResetError("the other process hung up")
        for message in answer.messages(piece):
            yield message


class _Answer:
    """Parser of a response that arrives in pieces, into ASGI messages."""

    def __init__(self) -> None:
        self._parser = HttpResponseParser(self)
        self._headers: list[tuple[bytes, bytes]] = []
        self._messages: list[dict[str, Any]] = []
        self.is_whole = False

    def messages(self, piece: bytes) -> list[dict[str, Any]]:
        """Return the ASGI messages that follow from *piece*.

        Raises:
            HttpParserError: It is not a valid response.
        """
        self._messages = []
        self._parser.feed_data(piece)
        return self._messages

    # --- callbacks of the parser ---

    def on_header(self, name: bytes, value: bytes) -> None:
        """Store a header."""
        if name.lower() not in OF_AN_ANSWER:
            self._headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        """Begin the response."""
        status: int = self._parser.get_status_code()
        start = {"type": "http.response.start", "status": status, "headers": self._headers}
        self._messages.append(start)

    def on_body(self, body: bytes) -> None:
        """Add a part of the body."""
        self._messages.append({"type": "http.response.body", "body": body, "more_body": True})

    def on_message_complete(self) -> None:
        """End the response."""
        self._messages.append({"type": "http.response.body", "body": b"", "more_body": False})
        self.is_whole = True


def _request(scope: Any, body: bytes) -> bytes:
    """Return a request in the form in which it is forwarded."""
    sent: bytes = scope["raw_path"].partition(b"?")[0]
    query: bytes = scope["query_string"]
    headers = [
        (name, value)
        for name, value in scope["headers"]
        if name not in OF_A_CONNECTION and name not in {PEER, b"x-request-id"}
    ]
    headers.append((b"x-request-id", scope[REQUEST_ID].encode()))
    peer = scope.get("client")
    if peer is not None:
        headers.append((PEER, f"{peer[0]} {peer[1]}".encode()))
    headers.append((b"content-length", str(len(body)).encode()))
    target = sent + (b"?" + query if query else b"")
    return _head(scope["method"].encode(), target, headers) + body


def _head(method: bytes, target: bytes, headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Return the head of a request. Parsed headers hold no line ends, so none can be injected."""
    lines = [b"%s %s HTTP/1.1" % (method, target), *(b"%s: %s" % pair for pair in headers)]
    return b"\r\n".join([*lines, b"", b""])


async def _cancel_on_disconnect(receive: Any, asking: CancelScope) -> None:
    """Cancel the request when the client has disconnected."""
    while (await receive())["type"] != "http.disconnect":
        pass
    asking.cancel()


# --- receiving process ----------------------------------------------------------------------------


@asynccontextmanager
async def receiving(worker_slot: WorkerSlot, application: Application) -> AsyncGenerator[None]:
    """Answer requests that other processes forward, for an ``async with`` block.

    Args:
        worker_slot: The slot of this process.
        application: An ASGI application, called as if the client had connected to it directly.
    """
    config = uvicorn.Config(
        _with_client_address(application),
        http="httptools",
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        date_header=False,
    )
    config.load()
    loop, state = asyncio.get_running_loop(), ServerState()

    def protocol() -> HttpToolsProtocol:
        return HttpToolsProtocol(config, state, app_state={}, _loop=loop)

    server = await loop.create_unix_server(protocol, sock=worker_slot.peer_listener)
    try:
        yield
    finally:
        server.close()
        for connection in list(state.connections):
            connection.shutdown()
        if state.tasks:
            await asyncio.wait(state.tasks, timeout=ASIDE_S)


def _with_client_address(application: Application) -> Application:
    """Wrap an application so that it sees the original address of the client."""

    async def straight(scope: Any, receive: Any, send: Any) -> None:
        address = next((value for name, value in scope["headers"] if name == PEER), None)
        headers = [pair for pair in scope["headers"] if pair[0] != PEER]
        peer = None if address is None else _peer(address.decode("latin-1"))
        await application({**scope, "headers": headers, "client": peer}, receive, send)

    return straight


def _peer(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(" ")
    return host, int(port)
