"""Changes of a memory, as readers find them in a source."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, TypeAlias

from attrs import field, frozen

from mnemic.kernel.errors import FieldRefused
from mnemic.kernel.timestamps import instant, iso

_MILLISECONDS: Final = 1e11
"""As seconds this is the year 5138, as milliseconds 1973."""


@frozen(kw_only=True)
class Learn:
    """A text was learned, or said again with another period."""

    place: str
    """Where in the source: file and line, row or item."""
    key: str
    """What identifies it in the source; later changes refer to it."""
    at: str | None
    """When the source recorded it, ISO 8601; None: it does not say."""
    lesson: Mapping[str, Any]
    """Arguments of ``learn``."""


@frozen(kw_only=True)
class Revise:
    """The text of *key* was replaced; learned if the source does not have what was before."""

    place: str
    key: str
    at: str | None
    lesson: Mapping[str, Any]


@frozen(kw_only=True)
class Forget:
    """*key* was deleted or archived."""

    place: str
    key: str
    at: str | None
    reason: str | None = None


@frozen(kw_only=True)
class Connect:
    """*source* and *target*, both keys, were related."""

    place: str
    source: str
    target: str
    at: str | None = None
    relation: str | None = None
    weight: float | None = None
    note: str | None = None


@frozen(kw_only=True)
class Left:
    """Something that is not imported; it is counted and reported by *what* and *why*."""

    place: str
    what: str
    why: str


Change: TypeAlias = Learn | Revise | Forget | Connect
Found: TypeAlias = Change | Left
CHANGES: Final[Mapping[str, type[Change]]] = {
    each.__name__: each for each in (Learn, Revise, Forget, Connect)
}


@frozen(kw_only=True)
class Options:
    """What a user says about a source."""

    mapping: Mapping[str, str] = field(factory=dict)
    """From arguments of ``learn`` to columns or keys."""
    zone: str | None = None
    """Trust zone of everything that is imported."""


Reader: TypeAlias = Callable[[Path, Options], Iterator[Found]]
"""Yields what a source holds, in its own order. Raises ``InputRefused`` where it cannot be read."""


def moment(given: object) -> str | None:
    """Return a time of a source as ISO 8601 in UTC; None if it is missing or cannot be read.

    Args:
        given: ISO 8601, or seconds or milliseconds since 1970.
    """
    if isinstance(given, int | float) and not isinstance(given, bool):
        seconds = given / 1_000 if abs(given) >= _MILLISECONDS else given
        try:
            return datetime.fromtimestamp(seconds, UTC).isoformat()
        except (OverflowError, OSError, ValueError):
            return None
    if isinstance(given, datetime):
        given = given.isoformat()
    if not isinstance(given, str) or not given.strip():
        return None
    try:
        at_us = instant("time", given)
    except FieldRefused:
        return None
    return None if at_us is None else iso(at_us)


def lesson(content: object, **fields: Any) -> dict[str, Any]:
    """Return arguments of ``learn`` without those that are empty; metadata likewise."""
    metadata = {key: value for key, value in (fields.pop("metadata", None) or {}).items() if value}
    given = {"content": content, **fields, "metadata": metadata}
    return {key: value for key, value in given.items() if value not in (None, "", (), [], {})}
