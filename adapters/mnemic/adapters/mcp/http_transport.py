"""The MCP interface over HTTP: an ASGI application to be mounted under ``/mcp`` of a server.

A client connects to ``/mcp/<space>``, or to ``/mcp`` if there is only one space that it may see.
Spaces that a client may not see are reported as missing. Everything else is the SDK's streamable
HTTP transport, with protocol sessions for clients from before 2026-07-28 and without since.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Any
from urllib.parse import quote, unquote

import anyio
from attrs import frozen
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.lowlevel import Server
from mcp.server.streamable_http import MCP_SESSION_ID_HEADER
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings

from mnemic.adapters.hosting import Spaces
from mnemic.adapters.mcp import http_errors
from mnemic.adapters.mcp.call_limiter import CallLimiter, Limits
from mnemic.adapters.mcp.client_sessions import (
    VISIT,
    Caller,
    ClientSessions,
    ClientVisit,
)
from mnemic.adapters.mcp.server import server
from mnemic.adapters.mcp.session_handles import Sessions
from mnemic.adapters.mcp.tools import ToolSet, called
from mnemic.adapters.remote import asgi_requests
from mnemic.adapters.remote.shares import Client, Shares
from mnemic.adapters.remote.transport_errors import Overloaded, PathUnknown, ShareExceeded
from mnemic.kernel.errors import (
    FieldRefused,
    MnemicError,
    SpaceNotFound,
)

PATH = "/mcp"
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
SHOWN_MAX = 20
"""Maximum number of spaces named in a refusal."""

Authenticate = Callable[[Any], Caller]
"""Returns the caller of a request by its ASGI scope, or raises a ``MnemicError``."""
Application = Callable[[Any, Any, Any], Awaitable[None]]


@frozen(kw_only=True)
class Message:
    """A message of a client that the host which leads its space answers."""

    space: str
    body: bytes
    is_long: bool
    """Whether it calls a tool for long-running work."""


PassOn = Callable[[Any, Message], Awaitable[Application | None]]
"""Returns the response of another host to a request, by its ASGI scope; None: this host responds.
It raises a ``MnemicError`` if there is none."""


class Mounted:
    """The MCP interface as an ASGI application; it serves while ``running`` is entered."""

    def __init__(
        self,
        client_sessions: ClientSessions,
        manager: StreamableHTTPSessionManager,
        authenticate: Authenticate,
        *,
        limits: Limits,
        read_only: bool,
        pass_on: PassOn | None,
    ) -> None:
        self.client_sessions = client_sessions
        self._limits = limits
        self._manager = manager
        self._authenticate = authenticate
        self._read_only = read_only
        self._pass_on = pass_on
        self._listening: set[anyio.CancelScope] = set()
        self._arriving = Shares(total=limits.calls_max + limits.waiting_max, what="requests")
        self._listening_shares = Shares(total=limits.listeners_max, what="streams")

    def stop(self) -> None:
        """End the streams on which clients only listen; calls that have begun continue."""
        for listening in list(self._listening):
            listening.cancel()

    @property
    def server(self) -> Server[Any]:
        """The SDK server, for adding handlers before it runs."""
        return self._manager.app

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Serve for an ``async with`` block, once; all client sessions are closed after it."""
        async with self._manager.run():
            yield

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve a request."""
        if scope["type"] != "http":
            return
        try:
            visit = await self._visit(scope)
        except MnemicError as error:
            await http_errors.problem(error, send)
            return
        # Not every HTTP server trims header values, and the SDK compares them exactly.
        # Source: RFC 9110, section 5.5.
        headers = [(name, value.strip(b" \t")) for name, value in scope["headers"]]
        scope = {**scope, "headers": headers, VISIT: visit, "user": _user(visit)}
        match scope["method"]:
            case "GET":
                serve = self._manager.handle_request
                await self._listen(serve, scope, receive, send, client=visit.client)
            case "POST":
                await self._take(scope, receive, send)
            case "DELETE":
                await self._manager.handle_request(scope, receive, self._leaving(scope, send))
            case _:
                await self._manager.handle_request(scope, receive, send)

    async def _take(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve a message sent by POST."""
        try:
            with self._arriving.using(scope[VISIT].client):
                body = await asgi_requests.whole(
                    scope,
                    receive,
                    max_bytes=self._limits.body_max_bytes,
                    timeout_s=self._limits.body_timeout_s,
                )
        except MnemicError as error:
            await self._refuse(error, send)
            return
        work = http_errors.work_in(body)
        try:
            if work is not None:
                self.client_sessions.call_limiter.check_room(scope[VISIT].client)
                answer = await self._answer_of_leader(scope, body, work)
                if answer is not None:
                    await answer(scope, receive, send)
                    return
        except MnemicError as error:
            await self._refuse(error, send, asked=None if work is None else work.get("id"))
            return
        await self._manager.handle_request(scope, _again(body, receive), self._hinting(send))

    async def _answer_of_leader(
        self, scope: Any, body: bytes, work: dict[str, Any]
    ) -> Application | None:
        """Return the response of the host that leads the space; None: this host responds."""
        if self._pass_on is None or work["method"] == "initialize":
            return None
        message = Message(space=scope[VISIT].space, body=body, is_long=_is_long(work))
        return await self._pass_on(scope, message)

    async def _refuse(self, error: MnemicError, send: Any, *, asked: Any = None) -> None:
        retry_after_s = self._limits.retry_after_s
        await http_errors.message(error, send, asked=asked, retry_after_s=retry_after_s)

    def _hinting(self, send: Any) -> Any:
        """Return *send* with a Retry-After header added to 503 responses, which the SDK omits."""

        async def sending(message: Any) -> None:
            if message.get("status") == HTTPStatus.SERVICE_UNAVAILABLE:
                hint = http_errors.retry_after(self._limits.retry_after_s)
                message = {**message, "headers": [*message["headers"], hint]}
            await send(message)

        return sending

    def _leaving(self, scope: Any, send: Any) -> Any:
        """Return *send* for a client that ends its protocol session.

        Its session handle is closed before the response confirms the end of the session.
        """
        session = asgi_requests.header(scope, MCP_SESSION_ID_HEADER.lower().encode())

        async def sending(message: Any) -> None:
            if message.get("status") == HTTPStatus.OK and session is not None:
                await self.client_sessions.gone(scope[VISIT], session)
            await send(message)

        return sending

    async def _listen(
        self, serve: Application, scope: Any, receive: Any, send: Any, *, client: Client | None
    ) -> None:
        """Serve a stream on which a client only listens; it never ends by itself."""
        if len(self._listening) >= self._limits.listeners_max:
            full = Overloaded(f"{len(self._listening)} streams are open already")
            await self._refuse(full, send)
            return
        try:
            self._listening_shares.take(client)
        except ShareExceeded as exceeded:
            await self._refuse(exceeded, send)
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
                self._listening_shares.leave(client)
        if is_open:  # cut off here, or left off by a library that has seen the signal to stop
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _visit(self, scope: Any) -> ClientVisit:
        """Return the caller and the space of a request.

        Raises:
            Unauthenticated: The caller is unknown.
            SpaceNotFound: There is no such space, or none that the caller may see.
            FieldRefused: There are several spaces, and the path names none.
        """
        caller = self._authenticate(scope)
        names = [
            name
            for name in await self.client_sessions.spaces.names()
            if caller.allows(name, "read")
        ]
        space = _named(scope)
        if not space:
            space = _only(names)
        elif space not in names:
            raise SpaceNotFound(
                f"there is no space {space!r:.200}",
                recovery=f"Connect to {PATH}/<space>, with a space that your token is for.",
                space=space,
            )
        return ClientVisit(caller=caller, space=space, read_only=self._read_only)


def asgi(
    spaces: Spaces,
    authenticate: Authenticate,
    *,
    read_only: bool = False,
    sessions: Sessions = "auto",
    tool_set: ToolSet = "core",
    hosts: Sequence[str] | None = LOOPBACK,
    origins: Iterable[str] = (),
    stateless: bool = False,
    limits: Limits | None = None,
    pass_on: PassOn | None = None,
) -> Mounted:
    """Return the MCP interface to *spaces*.

    Args:
        spaces: Already entered; they stay open when the interface closes.
        authenticate: Returns the caller of a request.
        read_only: Whether writes are refused for every token.
        sessions: Whether sessions of the log are begun by the interface, at the first call that
            writes, or by agents.
        tool_set: Which tools are listed.
        hosts: Allowed host names of the server, without port, against DNS rebinding: a page loaded
            from another site can make its host name resolve here, but not one of these. None: any
            name, which is safe only where every caller needs a token.
        origins: Web origins whose pages may send requests, in addition to those of *hosts*.
        stateless: Whether clients from before 2026-07-28 get no protocol session.
        limits: Limits on requests and calls; None: the defaults.
        pass_on: Has other hosts answer messages to spaces that they lead; None: there are none.
    """
    limits = limits or Limits()
    client_sessions = ClientSessions(
        spaces=spaces, sessions=sessions, tool_set=tool_set, call_limiter=CallLimiter(limits)
    )
    manager = StreamableHTTPSessionManager(
        server(client_sessions.opened),
        stateless=stateless,
        security_settings=_security(hosts, origins),
        session_idle_timeout=None if stateless else client_sessions.idle_s,
        max_sessions=client_sessions.handles_max,
        max_request_body_size=limits.body_max_bytes,
    )
    return Mounted(
        client_sessions,
        manager,
        authenticate,
        limits=limits,
        read_only=read_only,
        pass_on=pass_on,
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


def path_of(space: str) -> str:
    """Return the path to which a client of *space* connects."""
    return f"{PATH}/{quote(space, safe='')}"


def _is_long(work: Mapping[str, Any]) -> bool:
    """Return whether a message calls a tool for long-running work."""
    params = work.get("params")
    if work["method"] != "tools/call" or not isinstance(params, dict):
        return False
    name, arguments = params.get("name"), params.get("arguments") or {}
    if not (isinstance(name, str) and isinstance(arguments, dict)):
        return False
    tool = called(name, arguments)
    try:
        return tool is not None and tool.call(arguments).spec.long
    except FieldRefused:  # its host says so
        return False


def _named(scope: Any) -> str:
    """Return the space named by the raw path; its name may contain an encoded slash.

    Raises:
        PathUnknown: The path starts with ``/mcp`` but is not below it, such as ``/mcpx``.
    """
    sent: bytes = scope.get("raw_path") or quote(scope["path"]).encode()
    path = sent.partition(b"?")[0].decode("latin-1")
    behind = path.partition(PATH)[2]
    if behind and not behind.startswith("/"):
        raise PathUnknown(f"no path {path!r:.200}", recovery=f"Connect to {PATH}/<space>.")
    return unquote(behind.strip("/"))


def _only(names: Sequence[str]) -> str:
    if len(names) == 1:
        return names[0]
    if not names:
        raise SpaceNotFound(
            "there is no space that you may see",
            recovery="Have an admin create one, or ask for a token for an existing one.",
        )
    raise FieldRefused(
        "the address names no space",
        recovery=f"Connect to {PATH}/<space>, one of: {', '.join(names[:SHOWN_MAX])}.",
        field="space",
    )


def _again(body: bytes, receive: Any) -> Any:
    """Return a *receive* that replays a body already read, followed by the remaining messages."""
    messages = iter(({"type": "http.request", "body": body, "more_body": False},))

    async def receiving() -> Any:
        return next(messages, None) or await receive()

    return receiving


def _user(visit: ClientVisit) -> AuthenticatedUser:
    """Return the caller as the SDK's user, which binds protocol sessions to token and space."""
    token = AccessToken(token="", client_id=visit.owner, scopes=[], subject=visit.space)
    return AuthenticatedUser(token)
