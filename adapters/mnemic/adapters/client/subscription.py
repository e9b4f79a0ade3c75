"""A subscription to the events of a log: its position, its next request, and when to give up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import orjson
from attrs import evolve

from mnemic.adapters.client.answers import UNREADABLE, Answer, Outcome, answered, unreadable
from mnemic.adapters.client.requests import SILENCE_S, SSE, Request, space_path
from mnemic.adapters.client.retries import PASSING, PAUSE_MAX_S, backoff_s
from mnemic.adapters.client.server import Server
from mnemic.adapters.client.sse import CUT_SHORT, answer_of_problem
from mnemic.adapters.remote.documents import restored
from mnemic.kernel.errors import FieldRefused
from mnemic.kernel.results import LogEntry

if TYPE_CHECKING:
    from httpx_sse import ServerSentEvent

FRUITLESS_MAX: Final = 10
"""Consecutive tries without a stream: about a minute, long enough for a restart."""


class EventSubscription:
    """The position of a subscriber in a log."""

    def __init__(self, server: Server, space: str, after: int) -> None:
        if type(after) is not int or after < -1:
            raise FieldRefused(f"after must be a version from -1, got {after!r}", field="after")
        self._server = server
        self._after = after
        self._request = Request(
            operation="events",
            method="GET",
            target=space_path(space, "/events"),
            headers={"Accept": SSE},
            again=True,
            silence_s=SILENCE_S,
        )
        self._retry_s: float | None = None
        """The reconnection time that the server requested; None: it requested none."""
        self._problem: Answer | None = None
        self._fruitless = 0

    def request(self) -> Request:
        """Return the request for the next events."""
        self._retry_s = self._problem = None
        headers = {**self._request.headers, "Last-Event-ID": str(self._after)}
        target = f"{self._request.target}?after={self._after}"
        if self._after < 0:
            return evolve(self._request, target=target)
        return evolve(self._request, headers=headers, target=target)

    def begun(self) -> None:
        """Note that the server has begun a stream."""
        self._fruitless = 0

    def take(self, event: ServerSentEvent) -> LogEntry | None:
        """Return the log entry in the next event of the stream; None: it has none, or a known one.

        Raises:
            ServerUnreachable: The event is not a log entry.
        """
        if event.retry is not None:
            self._retry_s = event.retry / 1000
        if event.event == "problem":
            self._problem = answer_of_problem(event.data)
            return None
        entry = self._entry(event.data) if event.data else None
        if entry is None or entry.version <= self._after:
            return None
        self._after = entry.version
        return entry

    def _entry(self, data: str) -> LogEntry:
        try:
            moment: LogEntry = restored(LogEntry, orjson.loads(data))
        except UNREADABLE as error:
            raise unreadable(self._request, self._server, error) from error
        return moment

    def ended(self) -> Outcome:
        """Return the outcome of a stream that ended normally."""
        return self._problem or CUT_SHORT

    def pause_s(self, outcome: Outcome) -> float:
        """Return how long to wait before reconnecting.

        Args:
            outcome: How the stream ended, or the answer in its place.

        Raises:
            ServerUnreachable: Too many tries in a row failed.
            MnemicError: The server refused.
        """
        self._fruitless += 1
        lasting = isinstance(outcome, Answer) and outcome.status not in PASSING
        if lasting or self._fruitless >= FRUITLESS_MAX:
            answered(outcome, self._request, self._server, self._fruitless)
        if self._retry_s is not None and self._fruitless == 1:
            return min(self._retry_s, PAUSE_MAX_S)
        return backoff_s(self._server, self._fruitless - 1)
