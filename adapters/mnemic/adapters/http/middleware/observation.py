"""Observation of every request: its operation, space, outcome and duration.

Nothing here sees texts of a memory: neither bodies nor queries are read.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from typing import Any, TypeAlias

from attrs import define

from mnemic.adapters.http.messages.requests import segment
from mnemic.kernel.errors import MnemicError

OTHER = "other"
"""The operation of a request that no route matches."""
OPTIONS = "options"
AGENTS = "mcp"
"""The operation of every request to the MCP interface."""
VERSION = b"mnemic-version"


@define(kw_only=True)
class ObservedRequest:
    """The observable facts about one request, as far as it has come."""

    scope: Any
    began_s: float
    """By the monotonic clock, for durations."""
    status: int = 0
    """0: no response has begun."""
    version: int | None = None
    """Version of the log, if the response gives it."""

    @property
    def operation(self) -> str:
        """Return the operation, or the name of another kind of request."""
        if self.scope["method"] == "OPTIONS":
            return OPTIONS
        return getattr(self.scope.get("route_handler"), "name", None) or OTHER

    @property
    def is_listening(self) -> bool:
        """Whether it is a stream on which an agent only listens, for as long as it likes."""
        return self.operation == AGENTS and self.scope["method"] == "GET"

    @property
    def space(self) -> str | None:
        """Return the space that the path names, whether or not it exists."""
        given = (self.scope.get("path_params") or {}).get("space")
        try:
            return None if given is None else segment(given)
        except MnemicError:
            return None

    @property
    def duration_s(self) -> float:
        """Return how long the request has taken up to now."""
        return time.perf_counter() - self.began_s


Observer: TypeAlias = Callable[[ObservedRequest], AbstractContextManager[None]]
"""Entered while a request is served; afterwards the facts about the request are complete."""
Observing: TypeAlias = Callable[[], AbstractContextManager[Sequence[Observer] | None]]
"""Context manager that returns the request observers of a process for as long as it serves."""


class Observed:
    """ASGI middleware that lets observers see every request.

    Args:
        behind: The application.
        observers: The first one is the outermost.
        on_version: Called with space and version for each response that gives the version of a log.
    """

    def __init__(
        self, behind: Any, observers: Sequence[Observer], *, on_version: Callable[[str, int], None]
    ) -> None:
        self._behind = behind
        self._observers = tuple(observers)
        self._on_version = on_version

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve a request within the observers."""
        if scope["type"] != "http":
            await self._behind(scope, receive, send)
            return
        observed = ObservedRequest(scope=scope, began_s=time.perf_counter())

        async def send_observed(message: Any) -> None:
            if message["type"] == "http.response.start":
                self._note(observed, message)
            await send(message)

        with ExitStack() as stack:
            for observer in self._observers:
                stack.enter_context(observer(observed))
            await self._behind(scope, receive, send_observed)

    def _note(self, observed: ObservedRequest, message: Any) -> None:
        observed.status = message["status"]
        for name, value in message["headers"]:
            if name == VERSION:
                observed.version = int(value)
                space = observed.space
                if space is not None:
                    self._on_version(space, observed.version)
                return
