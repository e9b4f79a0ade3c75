"""Progress reports of long work, for requests with ``Accept: text/event-stream``.

The response to an operation that takes long (``Operation.long``), and to an import, is then a
stream of

- ``progress``, ``{"done": 300, "todo": 1000}``: repeatedly, ten times a second at most, and always
  once at the end; the unit is the operation's own (events, blocks, decisions),
- ``result``, the document that would have been the response, with the version of the log as its
  ``id``: once, as the last event; or
- ``problem``, a problem document with its ``status``: once, as the last event.

Work that fails before it begins, or within the first second, is answered without a stream, by a
problem with its own status. During silence a comment is sent every 15 seconds. A client that
disconnects stops nothing: work that has begun is completed, and its result can be requested again
by the same ``Idempotency-Key`` if the operation takes one.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import suppress
from http import HTTPStatus
from typing import Any

import orjson
from attrs import frozen

from mnemic.adapters.http.messages import sse
from mnemic.adapters.http.messages.responses import Answer, problem, status_in
from mnemic.adapters.http.messages.streamed_responses import Pieces
from mnemic.adapters.http.middleware.request_ids import LOG, REQUEST_ID
from mnemic.adapters.remote.calls import Progress
from mnemic.kernel.errors import MnemicError

PROGRESS = "progress"
RESULT = "result"
EARLY_S = 1.0
"""A failure before this time is answered with its own status and not with a stream."""
PAUSE_S = 0.1
"""Between two events ``progress``."""
VERSION = "mnemic-version"


class Report:
    """Progress of some work: reported by its thread, read on the event loop that created this."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._latest = (0, 0)
        self._is_notified = False
        self.pending = asyncio.Event()
        """Set while there is a report that was not read yet."""

    def __call__(self, done: int, todo: int) -> None:
        """Report progress. Cheap enough to be called for every step."""
        self._latest = (done, todo)
        if not self._is_notified:
            self._is_notified = True
            with suppress(RuntimeError):  # the server has stopped, and the work continues
                self._loop.call_soon_threadsafe(self.pending.set)

    def read(self) -> tuple[int, int]:
        """Return the latest report."""
        self.pending.clear()
        self._is_notified = False
        return self._latest


async def reported(
    work: Callable[[Progress], Coroutine[Any, Any, Answer]], *, request: Any, heartbeat_s: float
) -> Answer | Pieces:
    """Begin work, and return its response: a stream, unless it ends or fails early.

    Args:
        work: Called with the function to report progress to.
        request: ASGI scope of the request.
        heartbeat_s: Silence after which the stream sends a comment.

    Raises:
        MnemicError: It was refused, or failed, at once.
    """
    report = Report()
    working = asyncio.create_task(work(report))
    working.add_done_callback(_retrieve_outcome)
    await _wait_for_report(working, report, EARLY_S)
    if working.done():
        answer = working.result()
        if answer.status >= HTTPStatus.MULTIPLE_CHOICES:
            return answer
    progress = _ProgressStream(
        working=working, report=report, request=request, heartbeat_s=heartbeat_s
    )
    return Pieces(pieces=progress.pieces, headers=sse.HEADERS)


@frozen(kw_only=True)
class _ProgressStream:
    """Work in progress, as a stream of events."""

    working: asyncio.Task[Answer]
    report: Report
    request: Any
    heartbeat_s: float

    async def pieces(self) -> AsyncGenerator[bytes]:
        """Yield the text of the stream."""
        yield sse.BEGINNING
        while not self.working.done():
            if self.report.pending.is_set():
                yield self._progress()
                await asyncio.wait((self.working,), timeout=PAUSE_S)
            elif not await _wait_for_report(self.working, self.report, self.heartbeat_s):
                yield sse.HEARTBEAT
        await asyncio.sleep(0)  # lets the thread's last report arrive before the result is read
        if self.report.pending.is_set():
            yield self._progress()
        yield self._end()

    def _progress(self) -> bytes:
        done, todo = self.report.read()
        return sse.event(PROGRESS, orjson.dumps({"done": done, "todo": todo}))

    def _end(self) -> bytes:
        error, request_id = self.working.exception(), self.request[REQUEST_ID]
        if error is None:
            answer = self.working.result()
            version = answer.headers.get(VERSION)
            return sse.event(RESULT, answer.body, id=None if version is None else int(version))
        if not isinstance(error, MnemicError):
            LOG.error("request %s met a bug", request_id, exc_info=error)
        found = problem(error, request_id=request_id, status=status_in(self.request, error))
        return sse.event(sse.PROBLEM, orjson.dumps(found))


async def _wait_for_report(working: asyncio.Task[Answer], report: Report, timeout_s: float) -> bool:
    """Wait until the work reports or ends, or a timeout; return whether it did."""
    saying = asyncio.create_task(report.pending.wait())
    try:
        finished, _ = await asyncio.wait(
            (working, saying), timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED
        )
    finally:
        saying.cancel()
    return bool(finished)


def _retrieve_outcome(working: asyncio.Task[Answer]) -> None:
    """Retrieve the outcome, because the client may have disconnected."""
    if not working.cancelled():
        working.exception()
