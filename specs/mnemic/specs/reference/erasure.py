"""Erasure, told backwards: the log as it reads once somebody's words are gone.

What a fold made of a text (tags that moved on, a note on an edge) may not outlive it, or a replay
of the log could not come to the same state. So the reference does not patch its state: it strikes
the words from the log and folds again.
"""

from __future__ import annotations

from typing import Any

import attrs

from mnemic.kernel.events import Recorded
from mnemic.kernel.texts import ERASED, Payload


def erased(log: list[Recorded], *, owner: str | None) -> list[Recorded]:
    """Return *log* without the payloads of *owner*; of None: without any payload."""
    return [_struck(recorded, owner) for recorded in log]


def _struck(value: Any, owner: str | None) -> Any:
    if isinstance(value, Payload):
        return ERASED if owner is None or owner in value.of else value
    if isinstance(value, tuple):
        return tuple(_struck(entry, owner) for entry in value)
    if attrs.has(type(value)):
        names = [field.name for field in attrs.fields(type(value))]
        return attrs.evolve(value, **{name: _struck(getattr(value, name), owner) for name in names})
    return value
