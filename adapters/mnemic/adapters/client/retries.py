"""Retries: whether to send a request again, when, and where.

1. A broken connection, a time-out, 429 and 502 to 504 may be temporary. The request is sent again
   after a pause that doubles, if it only reads or carries a command id: then it is idempotent.
2. Nothing else is ever sent twice: the outcome of an unanswered operation is unknown.
3. A pause that the server names (``Retry-After``) is respected, unless it is longer than
   ``PAUSE_MAX_S``; then there is no retry.
4. A redirection to another host of a cluster (307) is followed, with the token: nothing was done
   where it came from. From https to http it is not.
"""

from __future__ import annotations

from typing import Final

from mnemic.adapters.client.answers import Answer, Outcome
from mnemic.adapters.client.requests import Request
from mnemic.adapters.client.server import Server

PASSING: Final = frozenset({429, 502, 503, 504})
PAUSE_MAX_S: Final = 10.0
REDIRECTION: Final = 307
REDIRECTIONS_MAX: Final = 3


def pause_s(server: Server, request: Request, outcome: Outcome, attempt: int) -> float | None:
    """Return how long to wait before the next try, in seconds; None: there is none.

    Args:
        server: Its retry settings apply.
        request: The request that was sent.
        outcome: Its answer, or the lack of one.
        attempt: How often it was sent before this, counted from 0.
    """
    passing = not isinstance(outcome, Answer) or outcome.status in PASSING
    if not (passing and request.again and attempt < server.retries):
        return None
    asked = _asked_s(outcome)
    if asked is not None:
        return asked if asked <= PAUSE_MAX_S else None
    return backoff_s(server, attempt)


def redirection(server: Server, outcome: Outcome) -> str | None:
    """Return the address that a request is to be sent to instead; None: it was answered."""
    if not (isinstance(outcome, Answer) and outcome.status == REDIRECTION):
        return None
    there = outcome.headers.get("location", "")
    allowed = ("https://",) if server.address.startswith("https:") else ("https://", "http://")
    return there if there.startswith(allowed) else None


def backoff_s(server: Server, attempt: int) -> float:
    """Return the pause after a try, the first of which is 0."""
    return min(server.backoff_s * 2.0**attempt, PAUSE_MAX_S)


def _asked_s(outcome: Outcome) -> float | None:
    """Return the pause that the server asked for, if it named one in seconds."""
    asked = outcome.headers.get("retry-after", "").strip() if isinstance(outcome, Answer) else ""
    return float(asked) if asked.isascii() and asked.isdigit() else None
