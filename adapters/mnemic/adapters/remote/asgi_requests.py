"""Headers and bodies of ASGI requests, with limits on a body's size and time."""

from __future__ import annotations

import asyncio
from typing import Any

from mnemic.adapters.remote.transport_errors import (
    BodyTooLarge,
    MediaTypeRefused,
    RequestTooSlow,
    RequestUnreadable,
)


def header(scope: Any, name: bytes) -> str | None:
    """Return the first header with a name, given in lower case; None: there is none."""
    for each, value in scope["headers"]:
        if each == name:
            return str(value, "latin-1")
    return None


def check_unencoded(scope: Any) -> None:
    """Refuse a body with a content encoding; none is decoded here.

    Raises:
        MediaTypeRefused: It is compressed, or encoded in another way.
    """
    given = [value for name, value in scope["headers"] if name == b"content-encoding"]
    for each in map(str.strip, b",".join(given).decode("latin-1").lower().split(",")):
        if each not in {"", "identity"}:
            raise MediaTypeRefused(
                f"the body has the content encoding {each!r:.40}",
                recovery="Send it without Content-Encoding.",
                content_encoding=each[:40],
            )


async def whole(scope: Any, receive: Any, *, max_bytes: int, timeout_s: float) -> bytes:
    """Return the whole body of a request.

    Args:
        scope: ASGI scope of the request.
        receive: Returns the ASGI messages of the request.
        max_bytes: Maximum length, checked while the body is received.
        timeout_s: Maximum time until the body is complete.

    Raises:
        MediaTypeRefused: It has a content encoding.
        BodyTooLarge: It is longer.
        RequestTooSlow: It did not arrive in time.
        RequestUnreadable: The client has disconnected.
    """
    check_unencoded(scope)
    announced = header(scope, b"content-length")
    if announced is not None and announced.isdigit() and int(announced) > max_bytes:
        raise _too_large(max_bytes)
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(timeout_s):
            while True:
                message = await receive()
                if message["type"] != "http.request":
                    raise RequestUnreadable("the connection ended before the body did")
                part: bytes = message.get("body", b"")
                size += len(part)
                if size > max_bytes:
                    raise _too_large(max_bytes)
                parts.append(part)
                if not message.get("more_body", False):
                    return b"".join(parts) if len(parts) > 1 else part
    except TimeoutError:
        raise RequestTooSlow(
            f"the body was not complete after {timeout_s:g} seconds", timeout_s=timeout_s
        ) from None


def _too_large(max_bytes: int) -> BodyTooLarge:
    return BodyTooLarge(f"the body is longer than {max_bytes} bytes", limit_bytes=max_bytes)
