"""Server-sent events as text. Source: HTML Living Standard, section 9.2, "Server-sent events".

All streams of this interface have these in common:

- Every event has a name (``event:``) and one line of JSON (``data:``). An ``id:`` is a version.
- ``retry:`` comes first: how long a client should wait before it reconnects, in milliseconds.
- Comments carry no data: they keep the connection alive, and say why the server ends a stream.
- An event named ``problem`` holds a problem document (RFC 9457), and is the last one.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

MEDIA_TYPE = "text/event-stream"
RETRY_MS = 1000
PROBLEM = "problem"
HEADERS: Mapping[str, str] = MappingProxyType(
    {
        "content-type": MEDIA_TYPE,
        "cache-control": "no-store",
        "x-accel-buffering": "no",  # otherwise nginx would deliver events late and in batches
    }
)

BEGINNING = f"retry: {RETRY_MS}\n\n".encode()
HEARTBEAT = b": \n\n"


def event(name: str, data: bytes, *, id: int | None = None) -> bytes:  # noqa: A002 - its own name
    """Return an event.

    Args:
        name: Name of the event, without line ends.
        data: One line, such as any JSON of ours.
        id: Value that a reconnecting client returns as its position; None: no position.
    """
    head = f"event: {name}\n" if id is None else f"id: {id}\nevent: {name}\n"
    return b"%bdata: %b\n\n" % (head.encode(), data)


def comment(words: str) -> bytes:
    """Return a comment. *words* hold no line ends."""
    return f": {words}\n\n".encode()
