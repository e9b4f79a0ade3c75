"""The MCP door over HTTP: an ASGI application to be mounted under ``/mcp`` of a server.

A client connects to ``/mcp/<space>``, or to ``/mcp`` if there is one space only that it may see.
Nobody is told of a space that they may not see. Everything else is the transport's: streamable HTTP
of the SDK, with sessions of the protocol for clients from before 2026-07-28 and without since.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Any
from urllib.parse import quote, unquote

import anyio
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.lowlevel import Server
from mcp.server.streamable_http import MCP_SESSION_ID_HEADER
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings

from mnemic.adapters.hosting import Spaces
from mnemic.adapters.http import bodies
from mnemic.adapters.http.failures import Overloaded
from mnemic.adapters.mcp import rejections
from mnemic.adapters.mcp.crew import Crew
from mnemic.adapters.mcp.guests import VISIT, Caller, Guests, Visit
from mnemic.adapters.mcp.limits import Limits
from mnemic.adapters.mcp.seats import Sessions
from mnemic.adapters.mcp.server import server
from mnemic.kernel.errors import (
    FieldRefused,
    MnemicError,
    PointOutOfRange,
)

PATH = "/mcp"
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
SHOWN_MAX = 20
"""Spaces that a refusal names."""

Authenticate = Callable[[Any], Caller]
"""Tells who makes a request, by its ASGI scope, or raises an error of ours."""
Application = Callable[[Any, Any, Any], Awaitable[None]]
Elsewhere = Callable[[Visit], Application | None]


class Mounted:
    """The door, as an ASGI application that runs while ``running`` is entered."""

    def __init__(
        self,
        guests: Guests,
        manager: StreamableHTTPSessionManager,
        authenticate: Authenticate,
        *,
        limits: Limits,
        read_only: bool,
        elsewhere: Elsewhere | None = None,
    ) -> None:
        self.guests = guests
        self._limits = limits
        self._manager = manager
        self._authenticate = authenticate
        self._read_only = read_only
        self._elsewhere = elsewhere
        self._listening: set[anyio.CancelScope] = set()

    def stop(self) -> None:
        """End the streams that clients only listen to; calls that are under way go on."""
        for listening in list(self._listening):
            listening.cancel()

    @property
    def server(self) -> Server[Any]:
        """The server behind it, for whoever adds to it before it runs."""
        return self._manager.app

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Serve for an ``async with`` block, once; afterwards every client has been let go."""
        async with self._manager.run():
            yield

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve a request."""
        if scope["type"] != "http":
            return
        try:
            visit = await self._visit(scope)
        except MnemicError as error:
            await rejections.problem(error, send)
            return
        other = None if self._elsewhere is None else self._elsewhere(visit)
        if other is not None:
            await self._pass_on(other, scope, receive, send)
            return
        # Not every HTTP server trims what it hands over, and the SDK compares letter by letter.
        # Source: RFC 9110, section 5.5.
        headers = [(name, value.strip(b" \t")) for name, value in scope["headers"]]
        scope = {**scope, "headers": headers, VISIT: visit, "user": _user(visit)}
        match scope["method"]:
            case "GET":
                await self._listen(self._manager.handle_request, scope, receive, send)
            case "POST":
                await self._take(scope, receive, send)
            case "DELETE":
                await self._manager.handle_request(scope, receive, self._leaving(scope, send))
            case _:
                await self._manager.handle_request(scope, receive, send)

    async def _take(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve a message of a client."""
        try:
            body = await bodies.whole(
                scope,
                receive,
                max_bytes=self._limits.body_max_bytes,
                timeout_s=self._limits.body_timeout_s,
            )
        except MnemicError as error:
            await self._send_away(error, send)
            return
        try:
            self.guests.crew.check_room()
        except Overloaded as error:
            asked = rejections.asked(body)
            if asked is not None:
                await self._send_away(error, send, asked=asked)
                return
        await self._manager.handle_request(scope, _again(body, receive), self._hinting(send))

    async def _send_away(self, error: MnemicError, send: Any, *, asked: Any = None) -> None:
        retry_after_s = self._limits.retry_after_s
        await rejections.message(error, send, asked=asked, retry_after_s=retry_after_s)

    def _hinting(self, send: Any) -> Any:
        """Return *send* for what the SDK answers: where it has no room, it says not until when."""

        async def sending(message: Any) -> None:
            if message.get("status") == HTTPStatus.SERVICE_UNAVAILABLE:
                hint = rejections.retry_after(self._limits.retry_after_s)
                message = {**message, "headers": [*message["headers"], hint]}
            await send(message)

        return sending

    def _leaving(self, scope: Any, send: Any) -> Any:
        """Return *send* for a client that ends its session.

        Its seat is let go of before it hears that the session has ended.
        """
        session = _header(scope, MCP_SESSION_ID_HEADER)

        async def sending(message: Any) -> None:
            if message.get("status") == HTTPStatus.OK and session is not None:
                await self.guests.gone(scope[VISIT], session)
            await send(message)

        return sending

    async def _pass_on(self, other: Application, scope: Any, receive: Any, send: Any) -> None:
        """Let another process serve a request."""
        if scope["method"] == "GET":
            await self._listen(other, scope, receive, send)
        else:
            await other(scope, receive, send)

    async def _listen(self, serve: Application, scope: Any, receive: Any, send: Any) -> None:
        """Serve a stream on which a client only listens; it never ends by itself."""
        if len(self._listening) >= self._limits.listeners_max:
            full = Overloaded(f"{len(self._listening)} streams are open already")
            await self._send_away(full, send)
            return
        is_open = False

        async def noting(message: Any) -> None:
            nonlocal is_open
            await send(message)
            is_open = message["type"] == "http.response.start" or message.get("more_body", False)

        with anyio.CancelScope() as listening:
            self._listening.add(listening)
            try:
                await serve(scope, receive, noting)
            finally:
                self._listening.discard(listening)
        if is_open:  # cut off here, or left off by a library that has seen the signal to stop
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _visit(self, scope: Any) -> Visit:
        """Return who makes a request, and for which space.

        Raises:
            Unauthenticated: Nobody knows who this is.
            PointOutOfRange: There is no such space, or none that they may see.
            FieldRefused: There are several, and the path names none.
        """
        caller = self._authenticate(scope)
        names = [name for name in await self.guests.spaces.names() if caller.allows(name, "read")]
        space = _named(scope)
        if not space:
            space = _only(names)
        elif space not in names:
            raise PointOutOfRange(
                f"there is no space {space!r:.200}",
                recovery=f"Connect to {PATH}/<space>, with a space that your token is for.",
                space=space,
            )
        return Visit(caller=caller, space=space, read_only=self._read_only)


def asgi(
    spaces: Spaces,
    authenticate: Authenticate,
    *,
    read_only: bool = False,
    sessions: Sessions = "auto",
    hosts: Sequence[str] | None = LOOPBACK,
    origins: Iterable[str] = (),
    stateless: bool = False,
    limits: Limits | None = None,
    elsewhere: Elsewhere | None = None,
) -> Mounted:
    """Return the MCP door to *spaces*.

    Args:
        spaces: Entered by now; they stay open when the door closes.
        authenticate: Tells who makes a request.
        read_only: Whether nobody may write, whatever their token.
        sessions: Who begins sessions of the log: the door at the first call that writes, or agents.
        hosts: Names under which the server may be asked for, without port: a page that was loaded
            from elsewhere can make a name of its own point here, but not have one of these. None:
            any, which is safe only where nobody comes in without a token.
        origins: Web origins whose pages may ask, besides those of *hosts*.
        stateless: Whether clients from before 2026-07-28 get no session of the protocol.
        limits: How much it takes on; None: as by default.
        elsewhere: Where several processes serve one address: which of them a visit belongs to, as
            an application that passes it on; None: to this one.
    """
    limits = limits or Limits()
    guests = Guests(spaces=spaces, sessions=sessions, crew=Crew(limits))
    manager = StreamableHTTPSessionManager(
        server(guests.opened),
        stateless=stateless,
        security_settings=_security(hosts, origins),
        session_idle_timeout=None if stateless else guests.idle_s,
        max_sessions=guests.seats_max,
        max_request_body_size=limits.body_max_bytes,
    )
    return Mounted(
        guests, manager, authenticate, limits=limits, read_only=read_only, elsewhere=elsewhere
    )


def _security(hosts: Sequence[str] | None, origins: Iterable[str]) -> TransportSecuritySettings:
    if hosts is None:
        return TransportSecuritySettings(enable_dns_rebinding_protection=False)
    ours = [f"{scheme}://{host}" for scheme in ("http", "https") for host in hosts]
    return TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=[*hosts, *(f"{host}:*" for host in hosts)],
        allowed_origins=[*ours, *(f"{each}:*" for each in ours), *origins],
    )


# --- requests -------------------------------------------------------------------------------------


def _named(scope: Any) -> str:
    """Return the space that the path names, as it was sent: a name may hold an encoded slash.

    Raises:
        PointOutOfRange: The path only begins like ours.
    """
    sent: bytes = scope.get("raw_path") or quote(scope["path"]).encode()
    path = sent.partition(b"?")[0].decode("latin-1")
    behind = path.partition(PATH)[2]
    if behind and not behind.startswith("/"):
        raise PointOutOfRange(
            f"nothing stands at {path!r:.200}", recovery=f"Connect to {PATH}/<space>."
        )
    return unquote(behind.strip("/"))


def _only(names: Sequence[str]) -> str:
    if len(names) == 1:
        return names[0]
    if not names:
        raise PointOutOfRange(
            "there is no space that you may see",
            recovery="Let an admin make one, or ask for a token that opens one.",
        )
    raise FieldRefused(
        "the address names no space",
        recovery=f"Connect to {PATH}/<space>, one of: {', '.join(names[:SHOWN_MAX])}.",
        field="space",
    )


def _again(body: bytes, receive: Any) -> Any:
    """Return what gives a body that was read once more, and then what comes after it."""
    messages = iter(({"type": "http.request", "body": body, "more_body": False},))

    async def receiving() -> Any:
        return next(messages, None) or await receive()

    return receiving


def _user(visit: Visit) -> AuthenticatedUser:
    """Return a caller in the words of the SDK: one's sessions are of no use to another."""
    token = AccessToken(token="", client_id=visit.owner, scopes=[], subject=visit.space)
    return AuthenticatedUser(token)


def _header(scope: Any, name: str) -> str | None:
    wanted = name.lower().encode()
    found = (value for each, value in scope["headers"] if each == wanted)
    return next((value.decode("latin-1") for value in found), None)
