"""Which space of the table of keys a log is: the one whose keys its rows name.

A label can be forged by whoever may write the store. So the row has to open with the keys that it
names, and they have to be of a space that began with the same event: otherwise new words would go
under keys of another space, and an erasure would leave those of this one.
"""

from __future__ import annotations

from contextlib import suppress

from mnemic.adapters.encryption import cipher
from mnemic.adapters.encryption.keys import KeyTable
from mnemic.kernel.errors import LogCorrupt, NotEncrypted
from mnemic.kernel.ports import Log, PayloadRow


def identified(log: Log, keys: KeyTable) -> int | None:
    """Return the number of a space; None if nothing was ever locked in it.

    Args:
        log: Of the space, as the store inside has it.
        keys: Where it may stand.

    Raises:
        KeysMissing, NotEncrypted: See ``EncryptedStore.log``.
    """
    genesis = log.digest_at(0)
    if genesis is None:
        return None
    begun = keys.space_begun(log.name, genesis)
    with suppress(LogCorrupt):  # whoever reads finds out how far it goes
        # The first event of a space has its salt, and only an erasure of all takes that away.
        row = _first_row(log, upto=0)
        if row is None and begun is None:
            row = _first_row(log, upto=None)
        if row is None:
            return begun
        if not cipher.is_locked(row.key) and begun is None:
            raise NotEncrypted(f"the words of space {log.name!r} stand open", space=log.name)
        with suppress(cipher.Damaged):
            names = cipher.names(row)
            found = keys.find(names)
            if found is not None:
                cipher.unlocked(row, cipher.opened_by(found))  # nothing else vouches for a label
            locked = keys.space_with(names[0], genesis)
            return begun if locked is None else locked
    return begun


def _first_row(log: Log, *, upto: int | None) -> PayloadRow | None:
    return next((rows[0] for _, rows in log.read(-1, upto) if rows), None)
