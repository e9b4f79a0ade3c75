"""Connection protocol of the server: uvicorn's, with limits on the head of a request.

uvicorn waits for the head of a request without a time limit, accepts any size, and answers what it
cannot parse in plain text. Here a head must arrive in time and be of a reasonable size, and every
refusal is a problem document like those of the application.

When the server stops, endless responses are asked to end, and connections whose clients stop
reading, or do not send the rest of a request, are closed.

With as many connections as may be open, uvicorn refuses every request, those on connections that
have been open for long included. So that clients who open connections and send nothing do not
exclude the others, a new connection then takes the place of a silent one.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from http import HTTPStatus
from typing import Any, cast
from uuid import uuid4

from uvicorn.protocols.http.flow_control import service_unavailable
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from mnemic.adapters.http.messages.responses import Answer, of_error
from mnemic.adapters.http.middleware.request_ids import RequestMiddleware
from mnemic.adapters.remote.transport_errors import (
    HeadTooLarge,
    Overloaded,
    RequestTooSlow,
    RequestUnreadable,
)
from mnemic.kernel.errors import MnemicError

HEAD_MAX_BYTES = 64 * 1024
"""Length of request line and headers together."""
HANG_UP_S = 2.0
"""How long a stopping server waits for a client to read the rest of a response."""
SEPARATORS_BYTES = 4
"""Colon, space and end of line of a header."""

LOG = logging.getLogger("mnemic.http")


class Connection(HttpToolsProtocol):
    """One connection with limits on the time and size of a request's head."""

    def __init__(self, *args: Any, **keywords: Any) -> None:
        super().__init__(*args, **keywords)
        self._served = cast("RequestMiddleware", self.app)
        self._settings = self._served.settings
        self._head: asyncio.TimerHandle | None = None
        """Runs while a head is awaited."""
        self._received_bytes = 0
        """Bytes received since a head was last awaited."""
        self._head_bytes = 0
        """Bytes of the current head that were parsed."""
        self._silent_since_s = self.loop.time()
        """When it was opened, or its last response was complete."""
        self._watch: asyncio.TimerHandle | None = None
        """Runs once the server stops."""

    @property
    def is_silent(self) -> bool:
        """Whether no request is in progress; a part of a head does not count as one."""
        cycle: Any = self.cycle  # None before the first request
        return (cycle is None or cycle.response_complete) and not self.transport.is_closing()

    @property
    def silent_since_s(self) -> float:
        """When it was opened, or its last response was complete, by the clock of the event loop."""
        return self._silent_since_s

    @property
    def peer(self) -> str:
        """The address of the other side, without its port."""
        return "" if self.client is None else self.client[0]

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
        """Begin to wait for the first request; at the limit, cut a silent connection off."""
        super().connection_made(transport)
        self._await_head()
        if self.limit_concurrency is not None:
            self._make_room(self.limit_concurrency)

    def _make_room(self, limit: int) -> None:
        """Cut silent connections off, so that fewer than *limit* are open.

        Of the peer with most of them first, and of its connections the longest silent.
        """
        connections = cast("set[Connection]", self.connections)
        remaining = sum(not each.transport.is_closing() for each in connections)
        if remaining < limit:
            return
        silent = [each for each in connections if each is not self and each.is_silent]
        peers = Counter(each.peer for each in silent)
        silent.sort(key=lambda each: (-peers[each.peer], each.silent_since_s))
        for each in silent[: remaining - limit + 1]:
            each.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timers."""
        self._stop_head_timer()
        if self._watch is not None:
            self._watch.cancel()
        super().connection_lost(exc)

    def shutdown(self) -> None:
        """Stop serving: ask streams to end, which never end by themselves, and then close."""
        self._served.stop()
        super().shutdown()
        self._watch_client()

    def _watch_client(self) -> None:
        self._watch = self.loop.call_later(HANG_UP_S, self._close_if_stalled, self.progress)

    def _close_if_stalled(self, before: tuple[int, int]) -> None:
        """Close the connection if its client has made no progress since *before*."""
        if self.waits_for_client and (self.transport.is_closing() or self.progress == before):
            self.transport.abort()
        else:
            self._watch_client()

    def data_received(self, data: bytes) -> None:
        """Process received bytes, and count them while a head is awaited."""
        self._received_bytes += len(data)
        super().data_received(data)
        if self._head is not None and self._received_bytes > HEAD_MAX_BYTES:
            self._refuse(_too_large())

    def on_response_complete(self) -> None:
        """Begin to wait for the next request."""
        super().on_response_complete()
        self._silent_since_s = self.loop.time()

    def on_message_begin(self) -> None:
        """Begin a request; an earlier one may still be answered."""
        if self._head is None:
            self._await_head()
        self._head_bytes = 0
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """Take a part of the address."""
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header."""
        self._count(len(name) + len(value) + SEPARATORS_BYTES)
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Stop the timer and continue with the request."""
        self._stop_head_timer()
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - uvicorn's text
        """Refuse what cannot be parsed, which ends the connection."""
        is_large = self._head_bytes > HEAD_MAX_BYTES
        error = _too_large() if is_large else RequestUnreadable("the request is not valid HTTP")
        cycle: Any = self.cycle  # None before the first request
        is_read = cycle is not None and not cycle.more_body
        self._stop_head_timer()
        if cycle is None or cycle.response_complete:
            self._answer(error)
        elif is_read:  # the error is in the next request; the connection ends after this response
            self.flow.pause_reading()
            cycle.keep_alive = False
        elif cycle.response_started or self.pipeline:
            self.transport.close()
        else:
            self._answer(error)

    def _start_asgi_task(self, cycle: Any, app: Any) -> None:
        """Serve a request, or refuse it if there are too many connections."""
        super()._start_asgi_task(cycle, self._full() if app is service_unavailable else app)

    def _full(self) -> Answer:
        return of_error(
            Overloaded("too many connections are open"),
            request_id=uuid4().hex,
            headers={"retry-after": str(self._settings.retry_after_s), "connection": "close"},
        )

    def _count(self, length: int) -> None:
        """Count parsed bytes of a head; one that is too long is not parsed any further.

        Raises:
            HeadTooLarge: The parser stops, and ``send_400_response`` answers.
        """
        self._head_bytes += length
        if self._head_bytes > HEAD_MAX_BYTES:
            raise _too_large()

    def _await_head(self) -> None:
        self._received_bytes = 0
        self._head = self.loop.call_later(self._settings.head_timeout_s, self._refuse_late)

    def _stop_head_timer(self) -> None:
        if self._head is not None:
            self._head.cancel()
            self._head = None

    def _refuse_late(self) -> None:
        limit_s = self._settings.head_timeout_s
        self._refuse(
            RequestTooSlow(
                f"the head was not complete after {limit_s:g} seconds", timeout_s=limit_s
            )
        )

    def _refuse(self, error: MnemicError) -> None:
        """Answer with an error and close; wait first while an earlier request is still answered."""
        self._stop_head_timer()
        cycle: Any = self.cycle  # None before the first request
        if cycle is not None and not cycle.response_complete:
            self._await_head()
        elif not self.transport.is_closing():
            self._answer(error)

    def _answer(self, error: MnemicError) -> None:
        """Write a problem document and close the connection."""
        request_id = uuid4().hex
        answer = of_error(error, request_id=request_id)
        headers = {
            **answer.headers,
            "content-length": str(len(answer.body)),
            "connection": "close",
            "x-request-id": request_id,
        }
        lines = [f"HTTP/1.1 {answer.status} {HTTPStatus(answer.status).phrase}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        peer = self.client[0] if self.client else "-"
        LOG.warning("%s %s %d: %s", request_id, peer, answer.status, error)
        self.transport.write("\r\n".join([*lines, "", ""]).encode("latin-1") + answer.body)
        self.transport.close()


def _too_large() -> HeadTooLarge:
    return HeadTooLarge(
        f"request line and headers are longer than {HEAD_MAX_BYTES} bytes",
        limit_bytes=HEAD_MAX_BYTES,
    )
