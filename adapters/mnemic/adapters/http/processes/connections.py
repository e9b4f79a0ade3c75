"""Connection protocol of the server: uvicorn's, with limits on the head of a request.

uvicorn waits for the head of a request without a time limit, and accepts any size. Here a head must
arrive in time and be of a reasonable size.
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
    """One connection with limits on the time and size of a request's head."""

    head_timeout_s: ClassVar[float]

    def __init__(self, *args: Any, **keywords: Any) -> None:
        super().__init__(*args, **keywords)
        self._head: asyncio.TimerHandle | None = None
        """Runs while a head is awaited."""
        self._received_bytes = 0
        """Bytes received since a head was last awaited."""

    @property
    def waits_for_client(self) -> bool:
        """Whether the client still has to read pending output, or to send the rest of a request."""
        cycle: Any = self.cycle  # None before the first request
        is_sending = cycle is not None and cycle.more_body and not cycle.response_complete
        return self.transport.is_closing() or is_sending or self.progress[0] > 0

    @property
    def progress(self) -> tuple[int, int]:
        """How many bytes wait to be sent, and how many were received since the last head."""
        return self.transport.get_write_buffer_size(), self._received_bytes

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer of the head."""
        self._stop_head_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Process received bytes, and count them while a head is awaited."""
        self._received_bytes += len(data)
        super().data_received(data)
        if self._head is not None and self._received_bytes > HEAD_MAX_BYTES:
            self._refuse(LARGE)

    def on_message_begin(self) -> None:
        """Begin a request; an earlier one may still be answered."""
        if self._head is None:
            self._await_head()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Stop the timer and continue with the request."""
        self._stop_head_timer()
        super().on_headers_complete()

    def _await_head(self) -> None:
        self._received_bytes = 0
        self._head = self.loop.call_later(self.head_timeout_s, self._refuse, LATE)

    def _stop_head_timer(self) -> None:
        if self._head is not None:
            self._head.cancel()
            self._head = None

    def _refuse(self, line: bytes) -> None:
        """Answer with an error and close; wait first while an earlier request is still answered."""
        self._stop_head_timer()
        cycle: Any = self.cycle  # None before the first request
        if cycle is not None and not cycle.response_complete:
            self._await_head()
        elif not self.transport.is_closing():
            self.transport.write(line + ENDING)
            self.transport.close()


def connection(head_timeout_s: float) -> type[Connection]:
    """Return a connection class whose requests must begin within this many seconds."""
    return type("Connection", (Connection,), {"head_timeout_s": head_timeout_s})
