"""Bodies of requests: read whole, and no longer and no later than they may be."""

from __future__ import annotations

import asyncio
from typing import Any

from mnemic.adapters.http.failures import BodyTooLarge, RequestTooSlow, RequestUnreadable
from mnemic.adapters.http.security import header


async def whole(scope: Any, receive: Any, *, max_bytes: int, timeout_s: float) -> bytes:
    """Return the whole body of a request.

    Args:
        scope: Of the request.
        receive: Gives what comes of it.
        max_bytes: How long it may be, whatever its headers say.
        timeout_s: How long it may take to come.

    Raises:
        BodyTooLarge: It is longer.
        RequestTooSlow: It was not there in time.
        RequestUnreadable: Whoever sent it has gone.
    """
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
            f"the body was not there after {timeout_s:g} seconds", timeout_s=timeout_s
        ) from None


def _too_large(max_bytes: int) -> BodyTooLarge:
    return BodyTooLarge(f"the body is longer than {max_bytes} bytes", limit_bytes=max_bytes)
