"""Long work that says how far it is, to whoever asks with ``Accept: text/event-stream``.

Of every verb that takes long (``Verb.long``), and of an import, the answer is then a stream of

- ``progress``, ``{"done": 300, "todo": 1000}``: now and then, ten times a second at most, and the
  last one always; what is counted is the verb's own (events, blocks, decisions),
- ``result``, the document that would have been the answer, with the version of the log as its
  ``id``: once, the last event; or
- ``problem``, a problem document with its ``status``: once, the last event.

What is refused before anything was done, or within the first second, is answered as ever: a problem
with its own status, and no stream. In silence a comment comes every 15 seconds. A reader who goes
away stops nothing: what has begun goes on to its end, and can be asked for again by the same
``Idempotency-Key`` where the verb takes one.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import suppress
from http import HTTPStatus
from typing import Any

import orjson
from attrs import frozen

from mnemic.adapters.http import sse
from mnemic.adapters.http.answers import Answer, problem, status_in
from mnemic.adapters.http.front import LOG, REQUEST_ID
from mnemic.adapters.http.pieces import Pieces
from mnemic.adapters.wire.calls import Progress
from mnemic.kernel.errors import MnemicError

PROGRESS = "progress"
RESULT = "result"
EARLY_S = 1.0
"""What fails before that is answered with a status of its own, not with a stream."""
PAUSE_S = 0.1
"""Between two events ``progress``."""
VERSION = "mnemic-version"


class Report:
    """How far some work is: told by its thread, read on the event loop that made this."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._latest = (0, 0)
        self._is_told = False
        self.news = asyncio.Event()
        """Set while there is something that was not read yet."""

    def __call__(self, done: int, todo: int) -> None:
        """Say how far it is. Costs next to nothing, however often."""
        self._latest = (done, todo)
        if not self._is_told:
            self._is_told = True
            with suppress(RuntimeError):  # the server has stopped, and the work goes on
                self._loop.call_soon_threadsafe(self.news.set)

    def read(self) -> tuple[int, int]:
        """Return what was said last."""
        self.news.clear()
        self._is_told = False
        return self._latest


async def reported(
    work: Callable[[Progress], Coroutine[Any, Any, Answer]], *, request: Any, heartbeat_s: float
) -> Answer | Pieces:
    """Begin work, and return its answer: a stream, unless it is over before there is any need.

    Args:
        work: Told where to report to.
        request: The ASGI scope of whatever asks for it.
        heartbeat_s: Silence after which the stream says that it lives.

    Raises:
        MnemicError: It was refused, or failed, at once.
    """
    report = Report()
    working = asyncio.create_task(work(report))
    working.add_done_callback(_looked_at)
    await _news(working, report, EARLY_S)
    if working.done():
        answer = working.result()
        if answer.status >= HTTPStatus.MULTIPLE_CHOICES:
            return answer
    telling = _Telling(working=working, report=report, request=request, heartbeat_s=heartbeat_s)
    return Pieces(pieces=telling.pieces, headers=sse.HEADERS)


@frozen(kw_only=True)
class _Telling:
    """Work under way, and somebody who is told how far it is."""

    working: asyncio.Task[Answer]
    report: Report
    request: Any
    heartbeat_s: float

    async def pieces(self) -> AsyncGenerator[bytes]:
        """Yield the text of the stream."""
        yield sse.BEGINNING
        while not self.working.done():
            if self.report.news.is_set():
                yield self._progress()
                await asyncio.wait((self.working,), timeout=PAUSE_S)
            elif not await _news(self.working, self.report, self.heartbeat_s):
                yield sse.HEARTBEAT
        await asyncio.sleep(0)  # what the thread said last comes in before its end is read
        if self.report.news.is_set():
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
        told = problem(error, request_id=request_id, status=status_in(self.request, error))
        return sse.event(sse.PROBLEM, orjson.dumps(told))


async def _news(working: asyncio.Task[Answer], report: Report, timeout_s: float) -> bool:
    """Wait until the work says something or ends, at most so long; say whether it did."""
    saying = asyncio.create_task(report.news.wait())
    try:
        finished, _ = await asyncio.wait(
            (working, saying), timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED
        )
    finally:
        saying.cancel()
    return bool(finished)


def _looked_at(working: asyncio.Task[Answer]) -> None:
    """Take note of how it ended, though whoever asked may have gone."""
    if not working.cancelled():
        working.exception()
