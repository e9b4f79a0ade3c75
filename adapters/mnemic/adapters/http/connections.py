"""A connection to the server: uvicorn's, with the limits that it leaves out.

uvicorn waits for the head of a request for as long as it takes, and takes whatever comes. Here a
head has to be there in time, and to be of a reasonable size.
"""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_MAX_BYTES = 64 * 1024
LATE = b"HTTP/1.1 408 Request Timeout\r\n"
LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
ENDING = b"content-length: 0\r\nconnection: close\r\n\r\n"


class Connection(HttpToolsProtocol):
    """One connection."""

    head_timeout_s: ClassVar[float]

    def __init__(self, *args: Any, **keywords: Any) -> None:
        super().__init__(*args, **keywords)
        self._head: asyncio.TimerHandle | None = None
        """Runs while a head is awaited."""
        self._head_bytes = 0
        """Of what came since a head was last awaited."""

    @property
    def is_waited_for(self) -> bool:
        """Whether somebody has to take what lies ready, or to send the rest of a request."""
        cycle: Any = self.cycle  # None before the first request
        is_sending = cycle is not None and cycle.more_body and not cycle.response_complete
        return self.transport.is_closing() or is_sending or self.stand[0] > 0

    @property
    def stand(self) -> tuple[int, int]:
        """How many bytes lie ready to be taken, and how many have come."""
        return self.transport.get_write_buffer_size(), self._head_bytes

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        self._head_came()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what came, and count it while it is of a head."""
        self._head_bytes += len(data)
        super().data_received(data)
        if self._head is not None and self._head_bytes > HEAD_MAX_BYTES:
            self._refuse(LARGE)

    def on_message_begin(self) -> None:
        """Begin with a request; another may still be answered."""
        if self._head is None:
            self._await_head()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Go on to the request."""
        self._head_came()
        super().on_headers_complete()

    def _await_head(self) -> None:
        self._head_bytes = 0
        self._head = self.loop.call_later(self.head_timeout_s, self._refuse, LATE)

    def _head_came(self) -> None:
        if self._head is not None:
            self._head.cancel()
            self._head = None

    def _refuse(self, line: bytes) -> None:
        """Say so, and hang up; later, while an earlier request is still answered."""
        self._head_came()
        cycle: Any = self.cycle  # None before the first request
        if cycle is not None and not cycle.response_complete:
            self._await_head()
        elif not self.transport.is_closing():
            self.transport.write(line + ENDING)
            self.transport.close()


def connection(head_timeout_s: float) -> type[Connection]:
    """Return the class of connections whose requests begin within so many seconds."""
    return type("Connection", (Connection,), {"head_timeout_s": head_timeout_s})
