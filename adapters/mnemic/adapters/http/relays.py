"""Requests that one of several processes passes on to another, and what it answers there.

What has a state of its own in a process, the seat of an agent, lives in one of them only: whoever
else is asked for it passes the request on, unchanged, and the answer back as it comes. The way is a
socket that only this user can reach; who may do what is looked at again at its end.
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

from mnemic.adapters.http.failures import Overdue, Overloaded
from mnemic.adapters.http.front import REQUEST_ID
from mnemic.adapters.http.posts import Post
from mnemic.adapters.http.settings import Settings

Application = Callable[[Any, Any, Any], Awaitable[None]]
_Line: TypeAlias = tuple[asyncio.StreamReader, asyncio.StreamWriter]

PEER = b"x-mnemic-peer"
"""Header that says on this way, and on no other, which address a request came from."""
GONE = "the process that this agent's seat is in has just gone"
PIECE_BYTES = 64 * 1024
OF_A_CONNECTION = frozenset(
    {b"connection", b"keep-alive", b"transfer-encoding", b"content-length", b"expect", b"upgrade"}
)
"""Headers that are not passed on. Source: RFC 9110, section 7.6.1."""
OF_AN_ANSWER = frozenset({b"connection", b"keep-alive", b"transfer-encoding"})
ASK_S = 3.0
"""How long another process may take for a plain question. Prometheus itself waits for 10 s."""
ASIDE_S = 5.0
"""How long what is passed on to this process may take to end when it stops."""


@frozen(kw_only=True)
class Relays:
    """The way from one process to the others."""

    post: Post
    settings: Settings

    def home(self, owner: str, space: str) -> int:
        """Return the number of the process in which somebody has a seat in a space."""
        return crc32(f"{owner}\0{space}".encode()) % self.post.count

    async def pass_on(
        self, number: int, scope: Any, receive: Any, send: Any, *, body: bytes
    ) -> None:
        """Let another process answer a request.

        Args:
            number: Of its post.
            scope: Of the request.
            receive: Tells when whoever asks has gone.
            send: Takes the answer.
            body: Of the request, all of it.

        Raises:
            Overloaded: The other one cannot be reached.
            Overdue: It hung up before it had said anything, and may have done what it was asked.
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
                tasks.start_soon(_gone, receive, tasks.cancel_scope)
                await answered()
                tasks.cancel_scope.cancel()
        except* (OSError, HttpParserError) as errors:
            if not is_asked:
                raise Overloaded(f"{GONE}; another takes over") from errors
            if not said:  # else the connection ends in the middle, which shows
                raise Overdue(f"{GONE}, and may have done what it was asked") from errors

    async def ask(self, number: int, path: str) -> bytes:
        """Return what another process answers to a plain question.

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
        reader, writer = await asyncio.open_unix_connection(self.post.rooms[number])
        try:
            yield reader, writer
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()


async def _answered(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes
) -> AsyncGenerator[dict[str, Any]]:
    """Ask another process, and yield its answer in messages of ASGI."""
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
    """An answer as it comes, in messages of ASGI."""

    def __init__(self) -> None:
        self._parser = HttpResponseParser(self)
        self._headers: list[tuple[bytes, bytes]] = []
        self._messages: list[dict[str, Any]] = []
        self.is_whole = False

    def messages(self, piece: bytes) -> list[dict[str, Any]]:
        """Return what there is to say once *piece* has come.

        Raises:
            HttpParserError: It is no answer.
        """
        self._messages = []
        self._parser.feed_data(piece)
        return self._messages

    # --- what the parser calls ---

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take note of a header."""
        if name.lower() not in OF_AN_ANSWER:
            self._headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        """Begin the answer."""
        status: int = self._parser.get_status_code()
        start = {"type": "http.response.start", "status": status, "headers": self._headers}
        self._messages.append(start)

    def on_body(self, body: bytes) -> None:
        """Go on with it."""
        self._messages.append({"type": "http.response.body", "body": body, "more_body": True})

    def on_message_complete(self) -> None:
        """End it."""
        self._messages.append({"type": "http.response.body", "body": b"", "more_body": False})
        self.is_whole = True


def _request(scope: Any, body: bytes) -> bytes:
    """Return a request as it is passed on."""
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
    """Return the head of a request. What came as one holds no line's end that is none."""
    lines = [b"%s %s HTTP/1.1" % (method, target), *(b"%s: %s" % pair for pair in headers)]
    return b"\r\n".join([*lines, b"", b""])


async def _gone(receive: Any, asking: CancelScope) -> None:
    """Stop asking when whoever asked has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass
    asking.cancel()


# --- the other end --------------------------------------------------------------------------------


@asynccontextmanager
async def receiving(post: Post, application: Application) -> AsyncGenerator[None]:
    """Answer what other processes pass on, for an ``async with`` block.

    Args:
        post: Of this process.
        application: An ASGI application; it is asked as if the request had come straight to it.
    """
    config = uvicorn.Config(
        _straightened(application),
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

    server = await loop.create_unix_server(protocol, sock=post.room)
    try:
        yield
    finally:
        server.close()
        for connection in list(state.connections):
            connection.shutdown()
        if state.tasks:
            await asyncio.wait(state.tasks, timeout=ASIDE_S)


def _straightened(application: Application) -> Application:
    """Return an application that sees where a request came from in the first place."""

    async def straight(scope: Any, receive: Any, send: Any) -> None:
        told = next((value for name, value in scope["headers"] if name == PEER), None)
        headers = [pair for pair in scope["headers"] if pair[0] != PEER]
        peer = None if told is None else _peer(told.decode("latin-1"))
        await application({**scope, "headers": headers, "client": peer}, receive, send)

    return straight


def _peer(told: str) -> tuple[str, int]:
    host, _, port = told.rpartition(" ")
    return host, int(port)
