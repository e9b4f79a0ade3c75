"""The outermost middleware: request ids, undecoded paths, and the access log.

An ASGI server decodes a path before a slash inside a name can be told from one between two names.
So routes are matched on the path as it was sent, and each part is decoded by its reader.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias
from urllib.parse import quote
from uuid import uuid4

from mnemic.adapters.http.messages.responses import VARIES, of_error
from mnemic.adapters.http.settings import Settings
from mnemic.adapters.remote.asgi_requests import header
from mnemic.adapters.remote.transport_errors import AddressTooLong, PathUnknown, RequestUnreadable

ACCESS = logging.getLogger("mnemic.http.access")
LOG = logging.getLogger("mnemic.http")
REQUEST_ID = "mnemic_request_id"
"""Key of a request's id in its ASGI scope."""
LOGGED = "mnemic_logged"
"""Key of a mapping in the ASGI scope with facts for the log: ``token``, the id of a valid token."""
ABSENT = "-"
"""What the log shows for a missing fact."""

LOGGED_MAX = 500
"""Bytes of a path that the log shows."""
PLAIN = "/%:@!$&'()*+,;=~"
"""Characters that the log shows unchanged, besides letters and digits; none of them ends a line."""

VARY = b"vary"
Header: TypeAlias = tuple[bytes, bytes]

_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")


class RequestMiddleware:
    """ASGI middleware that sets request ids, checks paths and writes the access log.

    Args:
        behind: The application.
        settings: Of the server.
        stop: Called when the server stops, before it waits for requests in progress.
    """

    def __init__(self, behind: Any, settings: Settings, *, stop: Callable[[], None]) -> None:
        self.settings = settings
        self._behind = behind
        self._stop = stop

    def stop(self) -> None:
        """Ask endless responses to end."""
        self._stop()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve a request, or pass on an event of the server."""
        if scope["type"] == "http":
            await self._serve(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1002})  # WebSocket is not supported
        else:
            await self._behind(scope, receive, send)

    async def _serve(self, scope: Any, receive: Any, send: Any) -> None:
        began = time.perf_counter()
        request_id = identified(scope)
        scope[REQUEST_ID] = request_id
        facts = scope[LOGGED] = {"peer": (scope.get("client") or (ABSENT,))[0], "token": ABSENT}
        logged = quote(_sent(scope)[:LOGGED_MAX], safe=PLAIN)
        status = 0

        async def stamped(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [
                    *self._varying(scope, message.get("headers", ())),
                    (b"x-request-id", request_id.encode()),
                ]
            await send(message)

        try:
            try:
                check_host(scope)
                scope["path"] = self._path(scope)
            except (PathUnknown, AddressTooLong, RequestUnreadable) as error:
                await of_error(error, request_id=request_id)(scope, receive, stamped)
            else:
                await self._behind(scope, receive, stamped)
        finally:
            # Never the query, which may hold texts of a memory, nor any header. The id of a token
            # is public, and still says who asked when the token is revoked.
            ACCESS.info(
                "%s %s %s %d %.1f ms %s %s",
                request_id,
                scope["method"],
                logged,
                status,
                (time.perf_counter() - began) * 1e3,
                facts["peer"],
                facts["token"],
            )

    def _varying(self, scope: Any, headers: Iterable[Header]) -> Iterable[Header]:
        """Return headers with a complete ``Vary`` where pages of other origins are served.

        The framework sets it to ``Origin`` in responses to such pages, in place of what the
        response has; and a cache must know of it even if the first request had no origin.
        """
        if not self.settings.origins:
            return headers
        kept = [each for each in headers if each[0] != VARY]
        return [*kept, (VARY, ", ".join([*scope.get(VARIES, ()), "Origin"]).encode())]

    def _path(self, scope: Any) -> str:
        """Return the path as it was sent.

        Raises:
            PathUnknown: A part of it is empty.
            AddressTooLong: It is too long, its query included.
            RequestUnreadable: It holds characters that a path may not hold.
        """
        raw = _sent(scope)
        if len(raw) + len(scope["query_string"]) > self.settings.query_max_bytes:
            raise AddressTooLong(
                f"the address is longer than {self.settings.query_max_bytes} bytes",
                limit_bytes=self.settings.query_max_bytes,
            )
        if not raw.isascii():
            raise RequestUnreadable("the path is not percent-encoded")
        path = raw.decode()
        if path.startswith("/v1/") and ("//" in path or path.endswith("/")):
            raise PathUnknown(f"a part of the path is empty: {path:.200}")
        return path


def _sent(scope: Any) -> bytes:
    """Return the path in the bytes that were sent, not decoded."""
    sent: bytes | None = scope.get("raw_path")
    return quote(scope["path"]).encode() if sent is None else sent.partition(b"?")[0]


def check_host(scope: Any) -> None:
    """Refuse a request without exactly one header ``Host``. Source: RFC 9112, section 3.2.

    Raises:
        RequestUnreadable: It names no host where HTTP requires one, or several.
    """
    named = sum(name == b"host" for name, _ in scope["headers"])
    if named > 1 or (not named and scope["http_version"] == "1.1"):
        raise RequestUnreadable(
            f"the request has {named} headers Host", recovery="Send one.", header="Host"
        )


def identified(scope: Any) -> str:
    """Return the id of a request: the one that it carries, or a new one."""
    brought = header(scope, b"x-request-id")
    return brought if brought is not None and _ID.fullmatch(brought) else uuid4().hex
