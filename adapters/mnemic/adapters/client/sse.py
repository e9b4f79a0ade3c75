"""The events of a long-running operation: its progress, and its answer at the end."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import orjson

from mnemic.adapters.client.answers import PROBLEM, Answer, Outcome, Silence
from mnemic.adapters.client.requests import JSON

if TYPE_CHECKING:
    from httpx_sse import ServerSentEvent

CUT_SHORT: Final = Silence(complaint="a stream that broke off")

Progress = Callable[[int, int], None]
"""Called with the units done and the units to do."""


class OperationStream:
    """Reader of a long-running operation's stream: reports progress, and keeps the final answer."""

    def __init__(self, progress: Progress | None) -> None:
        self.answer: Answer | None = None
        """The answer of the operation; None: it is still running."""
        self._progress = progress

    def take(self, event: ServerSentEvent) -> None:
        """Process the next event of the stream."""
        match event.event:
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
