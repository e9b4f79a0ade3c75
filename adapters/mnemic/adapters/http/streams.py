"""The log as it grows: ``GET /v1/spaces/{space}/events``, a stream of server-sent events.

Each event of the log is one: ``id`` its version, ``event`` its kind (``block-learned``), ``data``
the same document that ``GET .../log`` lists, a Moment. What was erased reads as erased there, too.
A stream

- begins behind ``?after=`` (default: -1, with the first event), or behind the version in
  ``Last-Event-ID``, which a client sends when it comes again; the header wins. What is no version,
  or lies beyond the end of the log, is refused (422): another log stands there than was followed.
- goes on: whatever is written, by whomever, follows within a quarter of a second, and what this
  server wrote at once. In silence a comment comes every 15 seconds (``Settings.heartbeat_s``).
- ends with an event ``problem`` when the token is revoked or expires, or the log cannot be read;
  with a comment when the server stops; and without a word when the reader has gone, or has taken
  nothing for a minute. A client comes again with ``Last-Event-ID``, and misses nothing.

There may be ``Settings.streams_max`` of them at once; one more is told to come again (503). The
header ``Mnemic-Version`` says where the log ended when the stream began.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable
from functools import partial
from typing import Any

import orjson
from attrs import frozen
from litestar.types import ControllerRouterHandler

from mnemic.adapters.http import reading, sse
from mnemic.adapters.http.answers import problem
from mnemic.adapters.http.calling import Desk
from mnemic.adapters.http.front import LOG, REQUEST_ID
from mnemic.adapters.http.handlers import Asked, placed
from mnemic.adapters.http.pieces import Pieces
from mnemic.adapters.http.routes import SPACE
from mnemic.adapters.http.security import header
from mnemic.adapters.http.visits import let_in, visit
from mnemic.adapters.http.watches import Watch, Watches
from mnemic.adapters.inprocess.standing import hearing, version_of
from mnemic.adapters.inprocess.sync import SyncMemory
from mnemic.adapters.wire.problems import status_of
from mnemic.kernel.errors import FieldRefused, MnemicError
from mnemic.kernel.results import Moment

PATH = f"{SPACE}/events"
NAME = "events"
AFTER = "after"
LAST_EVENT_ID = "Last-Event-ID"
FROM_THE_BEGINNING = -1
DIGITS_MAX = 18
PAGE = 100
"""Events that are read and sent together: what a slow reader costs."""
LET_IN_AGAIN_S = 1.0
"""How often it is looked whether the reader may still read, when nothing happens."""


def handlers(desk: Desk) -> list[ControllerRouterHandler]:
    """Return the handlers of this module."""

    async def events(request: Asked) -> Pieces:
        return await answer(desk, request.scope)

    return [placed(events, "GET", PATH, name=NAME)]


async def answer(desk: Desk, scope: Any) -> Pieces:
    """Return the stream of a space's events.

    Raises:
        Unauthenticated, PointOutOfRange: Whoever asks may not come in, or there is no such space.
        FieldRefused: It should begin where no stream can.
        NotAcceptable: Whoever asks wants no stream.
        Overloaded, Stopping: No stream may begin now.
    """
    visited = await visit(desk, scope, "read")
    space, memory = visited.space, visited.hold.memory
    try:
        after = beginning(scope)
        reading.check_acceptable(scope, sse.MEDIA_TYPE)
        watch = desk.watches.follow(space, partial(version_of, memory), hear=hearing(memory))
    except BaseException:
        visited.hold.release()
        raise

    def leave() -> None:
        desk.watches.leave(space)
        visited.hold.release()

    try:
        head = await desk.watches.read(partial(version_of, memory))
        check_beginning(after, head)
    except BaseException:
        leave()
        raise
    watch.saw(head)
    following = Following(
        memory=memory.seat(actor=visited.caller.name, read_only=True),
        watches=desk.watches,
        watch=watch,
        let_in=partial(let_in, desk, scope, "read"),
        request_id=scope[REQUEST_ID],
        heartbeat_s=desk.settings.heartbeat_s,
    )
    return Pieces(
        pieces=partial(following.pieces, after),
        headers={**sse.HEADERS, "mnemic-version": str(head)},
        stopping=desk.stopping,
        done=leave,
    )


def beginning(scope: Any) -> int:
    """Return the version behind which a stream should begin.

    Raises:
        FieldRefused: It is none, or the query holds something else.
    """
    fields = reading.query(scope)
    reading.check_fields(fields, (AFTER,))
    after = FROM_THE_BEGINNING
    if AFTER in fields:  # looked at even where the header wins
        after = _version(AFTER, reading.single(AFTER, fields[AFTER]))
    again = header(scope, LAST_EVENT_ID.lower().encode())
    return _version(LAST_EVENT_ID, again) if again else after


def check_beginning(after: int, head: int) -> None:
    """Refuse to wait behind the end of a log: what comes up to there would be missed.

    Raises:
        FieldRefused: It lies there.
    """
    if after > head:
        raise FieldRefused(
            f"version {after} lies beyond the end of the log, which is at {head}",
            recovery=f"Begin anew without it, or at most behind {head}; it is of another log.",
            field=AFTER,
            head=head,
        )


def _version(name: str, word: str) -> int:
    digits = word.strip().removeprefix("-")
    is_number = digits.isascii() and digits.isdigit() and len(digits) <= DIGITS_MAX
    version = int(word) if is_number else FROM_THE_BEGINNING - 1
    if version < FROM_THE_BEGINNING:
        raise FieldRefused(
            f"{name} must be a version, or -1 for the whole log, got {word!r:.80}",
            recovery="Give the id of the last event that was read.",
            field=name,
        )
    return version


@frozen(kw_only=True)
class Following:
    """Somebody who follows a log."""

    memory: SyncMemory
    watches: Watches
    watch: Watch
    let_in: Callable[[], object]
    """Raises when whoever reads may not any more."""
    request_id: str
    heartbeat_s: float

    async def pieces(self, after: int) -> AsyncGenerator[bytes]:
        """Yield the text of the stream, for as long as it goes on."""
        yield sse.BEGINNING
        try:
            async for piece in self._pages(after):
                yield piece
        except Exception as error:  # noqa: BLE001 - what goes wrong is told in the stream itself
            if not isinstance(error, MnemicError):
                LOG.error("request %s met a bug", self.request_id, exc_info=error)
            told = problem(error, request_id=self.request_id, status=status_of(error))
            yield sse.event(sse.PROBLEM, orjson.dumps(told))

    async def _pages(self, after: int) -> AsyncGenerator[bytes]:
        spoken = time.monotonic()
        while not self.watches.is_stopping:
            self.let_in()
            if self.watch.version > after:
                look = partial(self.memory.log, after=after, limit=PAGE)
                page = await self.watches.read(look)
                if page:
                    yield b"".join(map(_event, page))
                    after, spoken = page[-1].version, time.monotonic()
                    continue
            silence = time.monotonic() - spoken
            if silence >= self.heartbeat_s:
                yield sse.HEARTBEAT
                spoken = time.monotonic()
            await self.watch.rest(after, min(LET_IN_AGAIN_S, self.heartbeat_s))
        yield sse.comment("the server stops; come again with Last-Event-ID")


def _event(moment: Moment) -> bytes:
    return sse.event(moment.kind, orjson.dumps(moment.to_dict()), id=moment.version)
