"""A store keeps all its words locked, or none: whoever forgets the keys makes no open space."""

from __future__ import annotations

from mnemic.adapters.codec.sealing import LOCKED
from mnemic.kernel.errors import KeysMissing, LogCorrupt, NotEncrypted
from mnemic.kernel.ports import Store

LOOKED_AT_MAX = 10
"""Other spaces that are asked; one that was erased has nothing to say."""


def check_unmixed(store: Store, space: str) -> None:
    """Refuse to begin a space in a store whose other spaces are kept otherwise.

    Args:
        store: As it was opened, with keys or without.
        space: The one that is to begin.

    Raises:
        KeysMissing: The others are encrypted.
        NotEncrypted: They are not, and keys were given.
    """
    is_encrypted = bool(getattr(store, "is_encrypted", False))
    inner: Store = getattr(store, "inner", store) if is_encrypted else store
    others = [name for name in inner.spaces() if name != space][:LOOKED_AT_MAX]
    for other in others:
        is_locked = _is_locked(inner, other)
        if is_locked is None:
            continue
        if is_locked and not is_encrypted:
            raise KeysMissing(
                f"space {other!r} of this store is encrypted, and {space!r} would stand open",
                space=space,
            )
        if is_encrypted and not is_locked:
            raise NotEncrypted(
                f"the words of space {other!r} in this store stand open",
                recovery="Name another store for what is to be locked, or leave out the keys.",
                space=space,
            )
        return


def _is_locked(store: Store, space: str) -> bool | None:
    """Say whether the first event of a space is locked; None: it has no words."""
    try:
        for _, rows in store.log(space, create=False).read(-1, 0):
            return rows[0].key.startswith(LOCKED) if rows else None
    except LogCorrupt:
        pass
    return None
