"""What can be seen of every request from outside: which verb, which space, how it went, how long.

Nothing here sees words of a memory: neither bodies nor queries are looked at.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from typing import Any, TypeAlias

from attrs import define

from mnemic.adapters.http.reading import segment
from mnemic.kernel.errors import MnemicError

OTHER = "other"
"""What is called a request that no route is for."""
OPTIONS = "options"
AGENTS = "mcp"
"""What is called a request of an agent, whatever it asks for."""
VERSION = b"mnemic-version"


@define(kw_only=True)
class Seen:
    """One request, as far as it has come."""

    scope: Any
    began_s: float
    """By the clock for spans of time."""
    status: int = 0
    """0: no answer has begun."""
    version: int | None = None
    """Where the log stood, if the answer says so."""

    @property
    def verb(self) -> str:
        """Return the verb, or the name of what else stands there."""
        if self.scope["method"] == "OPTIONS":
            return OPTIONS
        return getattr(self.scope.get("route_handler"), "name", None) or OTHER

    @property
    def is_listening(self) -> bool:
        """Whether it is one of an agent that only listens: it lasts as long as the agent likes."""
        return self.verb == AGENTS and self.scope["method"] == "GET"

    @property
    def space(self) -> str | None:
        """Return the name that the path gives for a space, whether there is one or not."""
        given = (self.scope.get("path_params") or {}).get("space")
        try:
            return None if given is None else segment(given)
        except MnemicError:
            return None

    @property
    def duration_s(self) -> float:
        """Return how long it has taken up to now."""
        return time.perf_counter() - self.began_s


Observer: TypeAlias = Callable[[Seen], AbstractContextManager[None]]
"""Is there while a request is served, and knows at the end how it went."""


class Observed:
    """An ASGI application that others watch.

    Args:
        behind: The application.
        observers: Who watch, the first one outermost.
        told: Called with each answer that says where the log of a space stands.
    """

    def __init__(
        self, behind: Any, observers: Sequence[Observer], *, told: Callable[[str, int], None]
    ) -> None:
        self._behind = behind
        self._observers = tuple(observers)
        self._told = told

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve a request, and let others know."""
        if scope["type"] != "http":
            await self._behind(scope, receive, send)
            return
        seen = Seen(scope=scope, began_s=time.perf_counter())

        async def noting(message: Any) -> None:
            if message["type"] == "http.response.start":
                self._note(seen, message)
            await send(message)

        with ExitStack() as stack:
            for observer in self._observers:
                stack.enter_context(observer(seen))
            await self._behind(scope, receive, noting)

    def _note(self, seen: Seen, message: Any) -> None:
        seen.status = message["status"]
        for name, value in message["headers"]:
            if name == VERSION:
                seen.version = int(value)
                space = seen.space
                if space is not None:
                    self._told(space, seen.version)
                return
