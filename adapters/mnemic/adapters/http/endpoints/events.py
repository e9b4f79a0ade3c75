"""The stream of a log: ``GET /v1/spaces/{space}/events``, as server-sent events.

Each event of the log becomes one: ``id`` is its version, ``event`` its kind (``block-learned``),
and ``data`` the same document that ``GET .../log`` lists, a LogEntry. Erased texts read as erased
here, too. A stream

- begins after ``?after=`` (default: -1, with the first event), or after the version in
  ``Last-Event-ID``, which a client sends when it reconnects; the header wins. A value that is no
  version, or lies beyond the end of the log, is refused (422): the client has followed another log.
- continues: writes of other processes follow within a quarter of a second, and writes of this
  server at once. During silence a comment is sent every 15 seconds (``Settings.heartbeat_s``).
- ends with an event ``problem`` when the token is revoked or expires, or the log cannot be read;
  with a comment when the server stops; and without notice when the client disconnects, or has read
  nothing for a minute. A client reconnects with ``Last-Event-ID``, and misses nothing.

``Settings.streams_max`` of them may be open at once; one more is refused (503), and so is one more
than the share of a client (429, see ``remote.shares``). The header
``Mnemic-Version`` gives the end of the log when the stream began.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable
from functools import partial
from typing import Any

import orjson
from attrs import frozen
from litestar.types import ControllerRouterHandler

from mnemic.adapters.http.endpoints.auth_context import auth_context, authorize
from mnemic.adapters.http.endpoints.dispatch import Dispatcher
from mnemic.adapters.http.endpoints.log_watchers import Watch, Watches
from mnemic.adapters.http.messages import requests, sse
from mnemic.adapters.http.messages.responses import problem
from mnemic.adapters.http.messages.streamed_responses import Pieces
from mnemic.adapters.http.middleware.request_ids import LOG, REQUEST_ID
from mnemic.adapters.http.routing.handlers import Asked, placed
from mnemic.adapters.http.routing.routes import SPACE
from mnemic.adapters.inprocess.operations.answer_version import check_same_log, hearing, version_of
from mnemic.adapters.inprocess.sync import SyncMemory
from mnemic.adapters.remote.asgi_requests import header
from mnemic.adapters.remote.documents import encoded
from mnemic.adapters.remote.errors import status_of
from mnemic.kernel.errors import FieldRefused, MnemicError
from mnemic.kernel.results import LogEntry

PATH = f"{SPACE}/events"
NAME = "events"
AFTER = "after"
LAST_EVENT_ID = "Last-Event-ID"
FROM_THE_BEGINNING = -1
DIGITS_MAX = 18
PAGE = 100
"""Events that are read and sent together, which bounds the memory that a slow reader takes."""
RECHECK_S = 1.0
"""How often the client's permission is checked again while there are no events."""


def handlers(dispatcher: Dispatcher) -> list[ControllerRouterHandler]:
    """Return the handlers of this module."""

    async def events(request: Asked) -> Pieces:
        return await answer(dispatcher, request.scope)

    return [placed(events, "GET", PATH, name=NAME)]


async def answer(dispatcher: Dispatcher, scope: Any) -> Pieces:
    """Return the stream of a space's events.

    Raises:
        Unauthenticated, SpaceNotFound: The caller has no access, or there is no such space.
        FieldRefused: The requested beginning is invalid.
        NotAcceptable: The client accepts no stream.
        Overloaded, ShareExceeded, Stopping: No stream may begin now.
    """
    visited = await auth_context(dispatcher, scope, "read")
    space, memory, client = visited.space, visited.hold.memory, visited.caller.client
    try:
        after = beginning(scope)
        requests.check_acceptable(scope, sse.MEDIA_TYPE)
        watch = dispatcher.watches.follow(
            space, partial(version_of, memory), subscribe=hearing(memory), client=client
        )
    except BaseException:
        visited.hold.release()
        raise

    def leave() -> None:
        dispatcher.watches.leave(space, client)
        visited.hold.release()

    try:
        head = await dispatcher.watches.read(partial(version_of, memory))
        check_beginning(after, head)
    except BaseException:
        leave()
        raise
    watch.advance(head)
    following = EventStream(
        memory=memory.session_handle(actor=visited.caller.name, read_only=True),
        watches=dispatcher.watches,
        watch=watch,
        authorize=partial(authorize, dispatcher, scope, "read"),
        request_id=scope[REQUEST_ID],
        heartbeat_s=dispatcher.settings.heartbeat_s,
    )
    return Pieces(
        pieces=partial(following.pieces, after),
        headers={**sse.HEADERS, "mnemic-version": str(head)},
        stopping=dispatcher.stopping,
        done=leave,
    )


def beginning(scope: Any) -> int:
    """Return the version after which a stream should begin.

    Raises:
        FieldRefused: It is not a version, or the query holds an unknown field.
    """
    fields = requests.query(scope)
    requests.check_fields(fields, (AFTER,))
    after = FROM_THE_BEGINNING
    if AFTER in fields:  # checked even if the header wins
        after = _version(AFTER, requests.single(AFTER, fields[AFTER]))
    again = header(scope, LAST_EVENT_ID.lower().encode())
    return _version(LAST_EVENT_ID, again) if again else after


def check_beginning(after: int, head: int) -> None:
    """Refuse to begin after the end of a log: the events up to there would be missed.

    Raises:
        FieldRefused: It lies there.
    """
    if after > head:
        raise FieldRefused(
            f"version {after} lies beyond the end of the log, which is at {head}",
            recovery=f"Begin again without it, or at most after {head}; it is of another log.",
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
class EventStream:
    """The event stream of one follower of a log."""

    memory: SyncMemory
    watches: Watches
    watch: Watch
    authorize: Callable[[], object]
    """Raises when the caller may no longer read."""
    request_id: str
    heartbeat_s: float

    async def pieces(self, after: int) -> AsyncGenerator[bytes]:
        """Yield the text of the stream, until the server stops."""
        yield sse.BEGINNING
        try:
            async for piece in self._pages(after):
                yield piece
        except Exception as error:  # noqa: BLE001 - the stream itself reports the error
            if not isinstance(error, MnemicError):
                LOG.error("request %s met a bug", self.request_id, exc_info=error)
            result = problem(error, request_id=self.request_id, status=status_of(error))
            yield sse.event(sse.PROBLEM, orjson.dumps(result))

    async def _pages(self, after: int) -> AsyncGenerator[bytes]:
        spoken = time.monotonic()
        while not self.watches.is_stopping:
            self.authorize()
            check_same_log(self.memory)
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
            await self.watch.wait(after, min(RECHECK_S, self.heartbeat_s))
        yield sse.comment("the server stops; reconnect with Last-Event-ID")


def _event(moment: LogEntry) -> bytes:
    return sse.event(moment.kind, encoded(moment), id=moment.version)
