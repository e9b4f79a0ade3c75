"""Server-sent events as text. Source: HTML Living Standard, section 9.2, "Server-sent events".

What the streams of this door have in common:

- Every event has a name (``event:``) and one line of JSON (``data:``). An ``id:`` is a version.
- ``retry:`` comes first: how long a client should wait before it comes again, in milliseconds.
- Comments mean nothing: they say that the connection lives, and why the server ends a stream.
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
        "x-accel-buffering": "no",  # or nginx would hand on many events at once, and late
    }
)

BEGINNING = f"retry: {RETRY_MS}\n\n".encode()
HEARTBEAT = b": \n\n"


def event(name: str, data: bytes, *, id: int | None = None) -> bytes:  # noqa: A002 - its own name
    """Return an event.

    Args:
        name: What happened. Without line ends.
        data: One line, such as any JSON of ours.
        id: With what a client that was cut off says how far it came; None: it says nothing.
    """
    head = f"event: {name}\n" if id is None else f"id: {id}\nevent: {name}\n"
    return b"%bdata: %b\n\n" % (head.encode(), data)


def comment(words: str) -> bytes:
    """Return a comment. Without line ends."""
    return f": {words}\n\n".encode()
