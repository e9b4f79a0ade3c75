"""Erasing payloads from events that a host keeps in memory, or decoded in any other form.

A log that stores payloads beside its events deletes their rows instead, and reads ``ERASED`` in
their places.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, TypeVar

import attrs

from mnemic.kernel.model.texts import ERASED, Payload

T = TypeVar("T")


def without_payloads(recorded: T, owners: Collection[str] | None) -> T:
    """Return an event without the payloads of some owners.

    State that was derived from a text (tags that were carried over, a note on an edge) must not
    outlive it. So the state is not patched: rebuild it from the events that this returns.

    Args:
        recorded: An event in its envelope, or a part of one.
        owners: As in ``Decision.erase``; None: every payload, as with ``Decision.erase_all``.
    """
    return _without(recorded, owners)  # type: ignore[no-any-return]


def _without(value: Any, owners: Collection[str] | None) -> Any:
    if isinstance(value, Payload):
        return ERASED if owners is None or not set(owners).isdisjoint(value.of) else value
    if isinstance(value, tuple):
        return tuple(_without(entry, owners) for entry in value)
    if attrs.has(type(value)):
        names = [field.name for field in attrs.fields(type(value))]
        return attrs.evolve(
            value, **{name: _without(getattr(value, name), owners) for name in names}
        )
    return value
