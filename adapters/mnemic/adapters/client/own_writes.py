"""Reading one's own writes from a cluster, whichever host answers."""

from __future__ import annotations

from threading import Lock
from typing import Final
from urllib.parse import urlsplit

from mnemic.adapters.client.answers import Answer, Outcome
from mnemic.adapters.client.requests import Request

MIN_VERSION: Final = "Mnemic-Min-Version"
VERSION: Final = "mnemic-version"
_DEPTH: Final = 4
"""Parts of ``/v1/spaces/{space}``, the empty one before the first slash included."""


class OwnWrites:
    """The last version of each space that this connection has seen.

    Args:
        is_on: Whether requests demand it.
    """

    def __init__(self, *, is_on: bool) -> None:
        self._is_on = is_on
        self._seen: dict[str, int] = {}
        self._changing = Lock()

    def headers(self, request: Request) -> dict[str, str]:
        """Return the headers of *request*, with the version that its answer must have at least."""
        seen = self._seen.get(_space(request)) if self._is_on else None
        return dict(request.headers) | ({} if seen is None else {MIN_VERSION: str(seen)})

    def note(self, request: Request, outcome: Outcome) -> None:
        """Remember the version of an answer."""
        if not (self._is_on and isinstance(outcome, Answer) and outcome.succeeded):
            return
        said = outcome.headers.get(VERSION, "")
        if said.isascii() and said.isdigit():
            with self._changing:
                space = _space(request)
                self._seen[space] = max(int(said), self._seen.get(space, -1))


def _space(request: Request) -> str:
    """Return the path of the space that a request is about."""
    return "/".join(urlsplit(request.target).path.split("/")[:_DEPTH])
