"""Consistency of encryption: a store encrypts all its spaces or none, also if keys are omitted."""

from __future__ import annotations

from mnemic.adapters.codec.sealing import LOCKED
from mnemic.kernel.errors import KeysMissing, LogCorrupt, NotEncrypted
from mnemic.kernel.ports import Log, Store

LOOKED_AT_MAX = 10
"""How many other spaces are checked; an erased one gives no answer."""


def check_unmixed(store: Store, space: str) -> None:
    """Refuse to create a space whose encryption differs from that of the store's other spaces.

    Args:
        store: As it was opened, with keys or without.
        space: The one to create.

    Raises:
        KeysMissing: The others are encrypted.
        NotEncrypted: They are not, and keys were given.
    """
    is_encrypted, inner = _inside(store)
    _check_alike(inner, [name for name in inner.spaces() if name != space], space, is_encrypted)


def check_carried(source: Log, store: Store) -> None:
    """Refuse to copy a space into a store whose encryption differs from that of the copy.

    Args:
        source: The log to copy, as it is read.
        store: The target, as it was opened, with keys or without.

    Raises:
        KeysMissing: The store is encrypted, and the copy is not; or the source is encrypted, and
            would be encrypted twice.
        NotEncrypted: The store is not encrypted, and the copy would be.
    """
    is_encrypted, inner = _inside(store)
    comes_locked = is_locked(source)
    if comes_locked is None:
        return
    if is_encrypted and comes_locked:
        raise KeysMissing(
            f"space {source.name!r} is encrypted already, and would be encrypted twice",
            recovery="Open the store that it comes from with its keys, or name the target without.",
            space=source.name,
        )
    own = [source.name] if source.name in inner.spaces() else []
    others = [name for name in inner.spaces() if name != source.name]
    _check_alike(inner, own + others, source.name, is_encrypted or comes_locked)


def _inside(store: Store) -> tuple[bool, Store]:
    """Return whether a store encrypts its content, and the store that keeps it."""
    is_encrypted = bool(getattr(store, "is_encrypted", False))
    return is_encrypted, getattr(store, "inner", store) if is_encrypted else store


def _check_alike(inner: Store, others: list[str], space: str, is_encrypted: bool) -> None:  # noqa: FBT001
    for other in others[:LOOKED_AT_MAX]:
        is_store_encrypted = is_locked(inner.log(other, create=False))
        if is_store_encrypted is None:
            continue
        if is_store_encrypted and not is_encrypted:
            raise KeysMissing(
                f"space {other!r} of this store is encrypted, and {space!r} would not be",
                space=space,
            )
        if is_encrypted and not is_store_encrypted:
            raise NotEncrypted(
                f"the text of space {other!r} in this store is not encrypted",
                recovery="Name another store for what is to be encrypted, or leave out the keys.",
                space=space,
            )
        return


def is_locked(log: Log) -> bool | None:
    """Return whether the first event of a space is encrypted; None: it has no text."""
    try:
        for _, rows in log.read(-1, 0):
            return rows[0].key.startswith(LOCKED) if rows else None
    except LogCorrupt:
        pass
    return None
