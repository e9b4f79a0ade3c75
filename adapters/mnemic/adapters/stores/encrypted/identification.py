"""Which space of a table of keys a log is: the one whose keys its rows name."""

from __future__ import annotations

from contextlib import suppress

from mnemic.adapters.stores.encrypted import cipher
from mnemic.adapters.stores.encrypted.keys import KeyTable
from mnemic.kernel.errors import LogCorrupt, NotEncrypted
from mnemic.kernel.ports import Log, PayloadRow


def identified(log: Log, keys: KeyTable) -> int | None:
    """Return the number of the space whose keys a log's rows name; None: nothing is encrypted.

    A label can be forged by anyone who may write the store. So the row has to decrypt with the keys
    that it names, and they have to be of a space that began with the same event: otherwise new text
    would be encrypted with keys of another space, and an erasure would leave those of this one.

    Args:
        log: Of the space, as the inner store holds it.
        keys: The table to look in.

    Raises:
        KeysMissing, NotEncrypted: See ``EncryptedStore.log``.
    """
    genesis = log.digest_at(0)
    if genesis is None:
        return None
    begun = keys.space_begun(log.name, genesis)
    with suppress(LogCorrupt):  # the next reader reports how far it is readable
        # The first event of a space has its salt, which only the erasure of everything removes.
        row = _first_row(log, upto=0)
        if row is None and begun is None:
            row = _first_row(log, upto=None)
        if row is None:
            return begun
        if not cipher.is_locked(row.key) and begun is None:
            raise NotEncrypted(f"the text of space {log.name!r} is not encrypted", space=log.name)
        with suppress(cipher.Damaged):
            names = cipher.names(row)
            found = keys.find(names)
            if found is not None:
                cipher.unlocked(row, cipher.opened_by(found))  # a label has no other check
            locked = keys.space_with(names[0], genesis)
            return begun if locked is None else locked
    return begun


def _first_row(log: Log, *, upto: int | None) -> PayloadRow | None:
    return next((rows[0] for _, rows in log.read(-1, upto) if rows), None)
