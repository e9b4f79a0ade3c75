"""Points of the past in one text: ``hour:12.5``, ``version:901``, ``at:…``, ``decision:d45``.

An hour may not have ended yet. ``hour:12.5@901`` is that hour as it was when the log ended at
version 901.
"""

from __future__ import annotations

from typing import Any

from mnemic.adapters.inprocess.sync import SyncMemory
from mnemic.adapters.inprocess.view import SyncView, known_at
from mnemic.kernel.errors import FieldRefused

KINDS = ("hour", "version", "at", "decision")
DIGITS_MAX = 15
"""Of a version; a longer text is no version, and a long text of digits takes long to parse."""


def view_named(memory: SyncMemory, word: str, now: str | None = None) -> SyncView:
    """Return the view of a point of the past.

    Args:
        memory: The memory.
        word: See ``point``; an hour may be followed by ``@`` and a version.
        now: Evaluate ages at this instant instead of the point's own.

    Raises:
        FieldRefused: It is not in one of these forms.
        PointOutOfRange, DecisionNotFound: There is no such point.
    """
    at_hour, at, version = word.partition("@")
    if not (at and word.startswith("hour:")):
        return memory.as_of(**point(word, now))
    known: int = point(f"version:{version}")["version"]
    return known_at(memory.as_of(**point(at_hour, now)), known, now)


def point(word: str, now: str | None = None) -> dict[str, Any]:
    """Return the arguments of ``as_of`` for a point of the past.

    Args:
        word: ``hour:`` and active hours, ``version:`` and a version, ``at:`` and an instant in ISO
            8601, or ``decision:`` and its id.
        now: Evaluate ages at this instant instead of the point's own.

    Raises:
        FieldRefused: It is not in one of these forms.
    """
    kind, colon, value = word.partition(":") if isinstance(word, str) else ("", "", "")
    if kind not in KINDS or not colon or not value:
        raise _unreadable(word)
    found: dict[str, Any] = {} if now is None else {"now": now}
    match kind:
        case "hour":
            found["hour"] = _hours(value)
        case "version":
            if not (value.isascii() and value.isdigit() and len(value) <= DIGITS_MAX):
                raise _unreadable(word)
            found["version"] = int(value)
        case _:
            found[kind] = value
    return found


def _hours(value: str) -> float:
    try:
        return float(value)
    except ValueError:
        raise _unreadable(f"hour:{value}") from None


def _unreadable(word: object) -> FieldRefused:
    return FieldRefused(
        f"as_of {word!r:.80} is not a point of the past",
        recovery="Give hour:12.5, version:901, at:2026-03-01T12:00:00Z or decision:d45.",
        field="as_of",
    )
