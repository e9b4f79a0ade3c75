"""Encoding of points in the past for requests to a server."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

from attrs import frozen

from mnemic.adapters.remote.calls import Call
from mnemic.adapters.remote.documents import spoken
from mnemic.adapters.system.days import day_or_instant, is_day
from mnemic.kernel.errors import FieldRefused
from mnemic.kernel.results import Status
from mnemic.kernel.timestamps import iso

Date = str | datetime | None
Day = str | date | None


@frozen(kw_only=True)
class Point:
    """A point in the past in one word, and the instant from which ages are counted."""

    word: str
    now: str | None = None

    def call(self, operation: str, arguments: dict[str, Any] | None = None) -> Call:
        """Return the call of an operation as of this point."""
        return Call(operation=operation, arguments=arguments or {}, as_of=self.word, now=self.now)

    def fixed(self, status: Status) -> Point:
        """Return the same point, fixed to a version so that later writes do not move it.

        Args:
            status: The server's status as of this point.
        """
        kind = self.word.partition(":")[0]
        if kind == "at":
            return Point(word=f"version:{status.version}", now=self.now)
        if kind == "hour":
            return Point(word=f"{self.word}@{status.version}", now=self.now)
        return self  # a version and a decision are fixed by themselves


def resolved(name: str, point: object) -> object:
    """Return a point as a server takes it: a day as its end in the time zone of this process.

    Raises:
        FieldRefused: Its time zone is not known here.
    """
    if not is_day(point) or (isinstance(point, str) and point.strip().isdigit()):
        return point  # a text of digits is a version where versions are points
    found = day_or_instant(name, point)
    return None if found is None else iso(found)


def point_named(
    *,
    hour: float | None = None,
    version: int | None = None,
    at: Day = None,
    decision: str | None = None,
    now: Date = None,
) -> Point:
    """Return the one point that was named.

    Raises:
        FieldRefused: None or several were named.
    """
    # Texts in place of numbers are sent in quotes, so that the server refuses them like others.
    words = {
        "hour": None if hour is None else repr(hour),
        "version": None if version is None else repr(version),
        "at": None if at is None else str(spoken(resolved("at", at))),
        "decision": decision,
    }
    named = [f"{kind}:{word}" for kind, word in words.items() if word is not None]
    if len(named) != 1:
        raise FieldRefused(
            "name one point in the past",
            recovery="Give exactly one of hour, version, at and decision.",
        )
    return Point(word=named[0], now=None if now is None else str(spoken(now)))
