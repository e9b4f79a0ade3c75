"""The synchronous and the asynchronous connection to a server: transport of bytes only.

A connection keeps its sockets open between requests and serves any number of threads, or tasks.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Generator
from contextlib import aclosing, closing
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import anyio
from anyio import to_thread

from mnemic.adapters.client.answers import Answer, Outcome, Silence, answered
from mnemic.adapters.client.own_writes import OwnWrites
from mnemic.adapters.client.requests import SSE, Request
from mnemic.adapters.client.retries import REDIRECTIONS_MAX, pause_s, redirection
from mnemic.adapters.client.server import Server
from mnemic.adapters.client.sse import OperationStream, Progress
from mnemic.adapters.client.subscription import EventSubscription
from mnemic.adapters.client.transfer import Download
from mnemic.adapters.extras import require
from mnemic.adapters.transfer.exports.archive import MEDIA_TYPE, Packed
from mnemic.kernel.errors import Closed, FieldRefused
from mnemic.kernel.results import LogEntry

if TYPE_CHECKING:
    from ssl import SSLContext

    import httpx

PIECE_BYTES: Final = 1 << 18
"""Size of the pieces of a download that are written on a thread."""


class Connection:
    """A blocking connection.

    Args:
        server: The server, with its retry settings.
        transport: Another transport for requests; None: over the network.

    Raises:
        Unavailable: The extra is not installed.
    """

    def __init__(self, server: Server, transport: httpx.BaseTransport | None = None) -> None:
        _check_installed()
        import httpx

        self.server = server
        self._client = httpx.Client(transport=transport, **_settings(server))
        self._own_writes = OwnWrites(is_on=server.read_your_writes)
        self._is_closed = False

    def close(self) -> None:
        """Close the sockets; idempotent."""
        self._is_closed = True
        self._client.close()

    def ask(
        self,
        request: Request,
        progress: Progress | None = None,
        into: Download | None = None,
    ) -> Answer:
        """Send a request, with retries, and return the answer if it is one of success.

        Args:
            request: The request.
            progress: Called with the progress of long-running work.
            into: The destination of a body that is not a document.

        Raises:
            Closed: The connection is closed.
            ServerUnreachable: No server of mnemic answered.
            MnemicError: The refusal or failure of the server, of its own class.
        """
        tries = 0
        while True:
            outcome = self._try(request, progress, into)
            for _ in range(REDIRECTIONS_MAX):
                there = redirection(self.server, outcome)
                if there is None:
                    break
                outcome = self._try(request, progress, into, there)
            self._own_writes.note(request, outcome)
            wait_s = pause_s(self.server, request, outcome, tries)
            tries += 1
            if wait_s is None:
                return answered(outcome, request, self.server, tries)
            time.sleep(wait_s)

    def follow(self, following: EventSubscription) -> Generator[LogEntry]:
        """Yield the events of a log as they come, and reconnect when the stream breaks.

        Raises:
            Closed, ServerUnreachable, MnemicError: As ``ask``.
        """
        while True:
            with closing(self._followed(following)) as entries:
                outcome = yield from entries
            time.sleep(following.pause_s(outcome))

    def _try(
        self,
        request: Request,
        progress: Progress | None,
        into: Download | None,
        address: str | None = None,
    ) -> Outcome:
        import httpx
        from httpx_sse import EventSource

        stream = OperationStream(progress)
        try:
            with self._client.stream(**self._sent(request, address)) as response:
                if into is not None and _is_archive(response):
                    with into.begun() as unpacking:
                        for piece in response.iter_bytes():
                            unpacking.feed(piece)
                    return _answer(response, b"")
                if not _is_stream(response):
                    return _answer(response, response.read())
                for event in EventSource(response).iter_sse():
                    stream.take(event)
                return stream.ended()
        except httpx.RequestError as error:
            return stream.answer or _silence(error)  # a complete answer counts despite the error
        except httpx.InvalidURL as error:
            raise _too_long(request) from error

    def _followed(self, following: EventSubscription) -> Generator[LogEntry, None, Outcome]:
        import httpx
        from httpx_sse import EventSource

        try:
            with self._client.stream(**self._sent(following.request())) as response:
                if not _is_stream(response):
                    return _answer(response, response.read())
                following.begun()
                for event in EventSource(response).iter_sse():
                    entry = following.take(event)
                    if entry is not None:
                        yield entry
                return following.ended()
        except httpx.RequestError as error:
            return _silence(error)

    def _sent(self, request: Request, address: str | None = None) -> dict[str, Any]:
        if self._is_closed:
            raise Closed("the memory is closed")
        return {**_sent(self.server, request, self._own_writes, address), "content": request.body}


class AsyncConnection:
    """A connection for callers on an event loop. See ``Connection``."""

    def __init__(self, server: Server, transport: httpx.AsyncBaseTransport | None = None) -> None:
        _check_installed()
        import httpx

        self.server = server
        self._client = httpx.AsyncClient(transport=transport, **_settings(server))
        self._own_writes = OwnWrites(is_on=server.read_your_writes)
        self._is_closed = False

    async def close(self) -> None:
        """Close the sockets; idempotent."""
        self._is_closed = True
        await self._client.aclose()

    async def ask(
        self,
        request: Request,
        progress: Progress | None = None,
        into: Download | None = None,
    ) -> Answer:
        """Send a request, with retries, and return the answer if it is one of success.

        Raises:
            Closed, ServerUnreachable, MnemicError: See ``Connection.ask``.
        """
        tries = 0
        while True:
            outcome = await self._try(request, progress, into)
            for _ in range(REDIRECTIONS_MAX):
                there = redirection(self.server, outcome)
                if there is None:
                    break
                outcome = await self._try(request, progress, into, there)
            self._own_writes.note(request, outcome)
            wait_s = pause_s(self.server, request, outcome, tries)
            tries += 1
            if wait_s is None:
                return answered(outcome, request, self.server, tries)
            await anyio.sleep(wait_s)

    async def follow(self, following: EventSubscription) -> AsyncGenerator[LogEntry]:
        """Yield the events of a log as they come, and reconnect when the stream breaks.

        Raises:
            Closed, ServerUnreachable, MnemicError: See ``Connection.ask``.
        """
        while True:
            ended: list[Outcome] = []
            async with aclosing(self._followed(following, ended)) as entries:
                async for entry in entries:
                    yield entry
            await anyio.sleep(following.pause_s(ended.pop()))

    async def _try(
        self,
        request: Request,
        progress: Progress | None,
        into: Download | None,
        address: str | None = None,
    ) -> Outcome:
        import httpx
        from httpx_sse import EventSource

        stream = OperationStream(progress)
        try:
            async with self._client.stream(**self._sent(request, address)) as response:
                if into is not None and _is_archive(response):
                    with into.begun() as unpacking:
                        async for piece in response.aiter_bytes(PIECE_BYTES):
                            await to_thread.run_sync(unpacking.feed, piece)
                    return _answer(response, b"")
                if not _is_stream(response):
                    return _answer(response, await response.aread())
                async for event in EventSource(response).aiter_sse():
                    stream.take(event)
                return stream.ended()
        except httpx.RequestError as error:
            return stream.answer or _silence(error)  # a complete answer counts despite the error
        except httpx.InvalidURL as error:
            raise _too_long(request) from error

    async def _followed(
        self, following: EventSubscription, ended: list[Outcome]
    ) -> AsyncGenerator[LogEntry]:
        import httpx
        from httpx_sse import EventSource

        try:
            async with self._client.stream(**self._sent(following.request())) as response:
                if not _is_stream(response):
                    ended.append(_answer(response, await response.aread()))
                    return
                following.begun()
                async for event in EventSource(response).aiter_sse():
                    entry = following.take(event)
                    if entry is not None:
                        yield entry
                ended.append(following.ended())
        except httpx.RequestError as error:
            ended.append(_silence(error))

    def _sent(self, request: Request, address: str | None = None) -> dict[str, Any]:
        if self._is_closed:
            raise Closed("the memory is closed")
        body = request.body
        content = _pieces(body) if isinstance(body, Packed) else body
        return {**_sent(self.server, request, self._own_writes, address), "content": content}


async def _pieces(packed: Packed) -> AsyncGenerator[bytes]:
    """Yield the pieces of an archive, read on threads."""
    source = iter(packed)
    while piece := await to_thread.run_sync(next, source, b""):
        yield piece


def _check_installed() -> None:
    """Check that the library is installed.

    Raises:
        Unavailable: The extra is not installed.
    """
    for package in ("httpx", "httpx_sse"):
        need = f"the package {package}, which the HTTP client needs, is not installed"
        require(package, "http", need, package=package)


def _settings(server: Server) -> dict[str, Any]:
    return {
        "headers": server.headers,
        "timeout": server.timeout_s,
        "trust_env": not server.is_loopback,
        "verify": _trusted(),
    }


@cache
def _trusted() -> SSLContext:
    """Return the context for checking certificates, cached: loading it is slower than a request."""
    import httpx

    return httpx.create_ssl_context()


def _sent(
    server: Server, request: Request, own_writes: OwnWrites, address: str | None
) -> dict[str, Any]:
    return {
        "method": request.method,
        "url": address or server.address + request.target,
        "headers": own_writes.headers(request),
        "timeout": max(server.timeout_s, request.silence_s),
    }


def _is_stream(response: httpx.Response) -> bool:
    return _answer(response, b"").content_type == SSE


def _is_archive(response: httpx.Response) -> bool:
    result = _answer(response, b"")
    return result.succeeded and result.content_type == MEDIA_TYPE


def _answer(response: httpx.Response, body: bytes) -> Answer:
    return Answer(status=response.status_code, headers=response.headers, body=body)


def _silence(error: Exception) -> Silence:
    return Silence(complaint=f"{type(error).__name__}: {error}".rstrip(": "))


def _too_long(request: Request) -> FieldRefused:
    return FieldRefused(
        f"{request.operation}: the path of the request is too long ({len(request.target)} bytes)",
        recovery="Shorten the ids and texts in the request.",
    )
