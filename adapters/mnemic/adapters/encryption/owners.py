"""Whose keys lock what: blocks have one each, and what belongs to no block goes with its space."""

from __future__ import annotations

from collections.abc import Collection

from mnemic.adapters.codec.sealing import is_event, itself
from mnemic.kernel.errors import FieldRefused
from mnemic.kernel.ports import PayloadRow

THE_SPACE = ""
"""The owner of what belongs to no block."""
CHECKPOINTS = "checkpoints"
"""The owner of the key under which checkpoints are; it goes with every erasure."""


def owners_of(row: PayloadRow) -> tuple[str, ...]:
    """Return whose keys lock a payload."""
    own = itself(row.version)
    return tuple(THE_SPACE if owner == own else owner for owner in row.owners) or (THE_SPACE,)


def require_own_keys(owners: Collection[str]) -> None:
    """Refuse to erase what goes with its space only: its key could not be destroyed."""
    for owner in owners:
        if owner == THE_SPACE or is_event(owner):
            raise FieldRefused(
                f"what belongs to event {owner!r} alone has no key of its own",
                recovery="Erase a block, or the whole space.",
                field="erase",
            )
