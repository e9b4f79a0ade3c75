"""A store keeps all its words locked, or none: whoever forgets the keys makes no open space."""

from __future__ import annotations

from mnemic.adapters.codec.sealing import LOCKED
from mnemic.kernel.errors import KeysMissing, LogCorrupt, NotEncrypted
from mnemic.kernel.ports import Log, Store

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
    is_encrypted, inner = _inside(store)
    _check_alike(inner, [name for name in inner.spaces() if name != space], space, is_encrypted)


def check_carried(source: Log, store: Store) -> None:
    """Refuse to bring a space into a store that keeps its spaces, or a part of it, otherwise.

    Args:
        source: What is to be copied there, as it is read.
        store: As it was opened, with keys or without.

    Raises:
        KeysMissing: The store is encrypted, and what comes stands open; or what comes is locked,
            and would be locked twice.
        NotEncrypted: The store is not, and what comes is to be.
    """
    is_encrypted, inner = _inside(store)
    comes_locked = is_locked(source)
    if comes_locked is None:
        return
    if is_encrypted and comes_locked:
        raise KeysMissing(
            f"space {source.name!r} is locked already, and would be locked once more",
            recovery="Open the store that it comes from with its keys, or name the target without.",
            space=source.name,
        )
    own = [source.name] if source.name in inner.spaces() else []
    others = [name for name in inner.spaces() if name != source.name]
    _check_alike(inner, own + others, source.name, is_encrypted or comes_locked)


def _inside(store: Store) -> tuple[bool, Store]:
    """Return whether a store locks what it is given, and the one that keeps it."""
    is_encrypted = bool(getattr(store, "is_encrypted", False))
    return is_encrypted, getattr(store, "inner", store) if is_encrypted else store


def _check_alike(inner: Store, others: list[str], space: str, is_encrypted: bool) -> None:  # noqa: FBT001
    for other in others[:LOOKED_AT_MAX]:
        stands_locked = is_locked(inner.log(other, create=False))
        if stands_locked is None:
            continue
        if stands_locked and not is_encrypted:
            raise KeysMissing(
                f"space {other!r} of this store is encrypted, and {space!r} would stand open",
                space=space,
            )
        if is_encrypted and not stands_locked:
            raise NotEncrypted(
                f"the words of space {other!r} in this store stand open",
                recovery="Name another store for what is to be locked, or leave out the keys.",
                space=space,
            )
        return


def is_locked(log: Log) -> bool | None:
    """Say whether the first event of a space is locked; None: it has no words."""
    try:
        for _, rows in log.read(-1, 0):
            return rows[0].key.startswith(LOCKED) if rows else None
    except LogCorrupt:
        pass
    return None
