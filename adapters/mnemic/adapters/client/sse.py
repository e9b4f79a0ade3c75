"""Incremental parser of server-sent events (``text/event-stream``).

Lines end only where the standard says: JSON may contain the other characters at which Python's
``splitlines`` would break a line.

Source: WHATWG HTML, server-sent events, section "parsing an event stream".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

import orjson
from attrs import frozen

from mnemic.adapters.client.answers import PROBLEM, Answer, Outcome, Silence
from mnemic.adapters.client.requests import JSON

_BREAK: Final = re.compile(rb"\r\n|\n|\r(?!\Z)")

CUT_SHORT: Final = Silence(complaint="a stream that broke off")

Progress = Callable[[int, int], None]
"""Called with the units done and the units to do."""


@frozen(kw_only=True)
class Event:
    """One event."""

    name: str = "message"
    data: str = ""
    id: str | None = None
    """The last event id of the stream; None: none so far."""


class Decoder:
    """Makes events of bytes."""

    def __init__(self) -> None:
        self.retry_s: float | None = None
        """The reconnection time that the server requested; None: it requested none."""
        self._pending: list[bytes] = []
        self._name = ""
        self._data: list[str] = []
        self._id: str | None = None

    def feed(self, piece: bytes) -> Iterator[Event]:
        """Yield the events completed by the next piece of the stream."""
        self._pending.append(piece)
        if b"\n" not in piece and b"\r" not in piece:
            return
        *lines, rest = _BREAK.split(b"".join(self._pending))
        self._pending = [rest]
        for line in lines:
            if line:
                self._take(line.decode("utf-8", "replace"))
                continue
            name, data = self._name or "message", self._data
            self._name, self._data = "", []
            if data:
                yield Event(name=name, data="\n".join(data), id=self._id)

    def _take(self, line: str) -> None:
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        match name:
            case "event":
                self._name = value
            case "data":
                self._data.append(value)
            case "id" if "\0" not in value:
                self._id = value
            case "retry" if value.isascii() and value.isdigit():
                self.retry_s = int(value) / 1000
            case _:
                pass  # a comment, or an unknown field


class SSEParser:
    """Reader of a long-running operation's stream: reports progress, and keeps the final answer."""

    def __init__(self, progress: Progress | None) -> None:
        self.answer: Answer | None = None
        """The answer of the operation; None: it is still running."""
        self._decoder = Decoder()
        self._progress = progress

    def take(self, piece: bytes) -> None:
        """Process the next piece of the stream."""
        for event in self._decoder.feed(piece):
            match event.name:
                case "progress":
                    self._report(event.data)
                case "result":
                    self.answer = _answer(200, JSON, event.data)
                case "problem":
                    self.answer = answer_of_problem(event.data)
                case _:
                    pass

    def ended(self) -> Outcome:
        """Return the outcome of the operation, after the stream has ended."""
        return self.answer or CUT_SHORT

    def _report(self, data: str) -> None:
        result = _object(data)
        done, todo = result.get("done"), result.get("todo")
        if self._progress is not None and isinstance(done, int) and isinstance(todo, int):
            self._progress(done, todo)


def answer_of_problem(data: str) -> Answer:
    """Return the problem that ends a stream as a response with its status."""
    status = _object(data).get("status")
    return _answer(status if isinstance(status, int) else 500, PROBLEM, data)


def _object(data: str) -> dict[str, Any]:
    """Return the JSON object in an event; empty if there is none."""
    try:
        document = orjson.loads(data)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def _answer(status: int, content_type: str, data: str) -> Answer:
    return Answer(status=status, headers={"content-type": content_type}, body=data.encode())
