"""A request that was received, parsed and authorized, and is not executed yet."""

from __future__ import annotations

from attrs import frozen

from mnemic.adapters.http.messages.requests import Tags
from mnemic.adapters.http.middleware.security import Caller
from mnemic.adapters.http.routing.routes import Route
from mnemic.adapters.remote.calls import Call

MOVING = frozenset({"ask_again", "checkpoints", "diff", "frontier", "status"})
"""Operations whose results may differ at the same version: they depend on the time, or on files
other than the log. Their ETag gives the version of the log, not that the result is unchanged."""


@frozen(kw_only=True)
class PreparedCall:
    """A parsed and authorized request: everything that a worker thread needs for it."""

    route: Route
    call: Call
    caller: Caller
    space: str
    address: str
    """Path and query, as they were sent."""
    may_consolidate: bool = False
    """Whether pending work may be consolidated before a read: this requires a server that accepts
    writes, a caller with the scope write, and a method that may write."""
    session: str | None = None
    if_match: Tags | None = None
    if_none_match: Tags | None = None

    @property
    def reads(self) -> bool:
        """Whether it writes nothing."""
        return self.call.scope == "read"

    @property
    def consolidates_first(self) -> bool:
        """Whether pending work is consolidated first, as a read does in the process.

        A condition refers to the log as it is, and would not hold after that.
        """
        return self.may_consolidate and self.if_match is None and self.if_none_match is None

    @property
    def is_get(self) -> bool:
        """Whether the response may be in a cache."""
        return self.route.method == "GET"

    def is_unchanged(self, tag: str) -> bool:
        """Return whether the client has this response already: a log with this tag has no other.

        Results that change without the log are always sent again, and so are all results in a
        session, in which active time and decay advance.
        """
        moves = self.session is not None or self.route.operation.name in MOVING
        condition = self.if_none_match if self.is_get and not moves else None
        return condition is not None and condition.match(tag)
