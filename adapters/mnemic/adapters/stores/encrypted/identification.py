"""Identification of the space in a key table that a log belongs to, by the keys its rows name."""

from __future__ import annotations

from contextlib import suppress

from mnemic.adapters.stores.encrypted import cipher
from mnemic.adapters.stores.encrypted.keys import KeyTable
from mnemic.kernel.errors import LogCorrupt, NotEncrypted
from mnemic.kernel.ports import Log, PayloadRow


def identified(log: Log, keys: KeyTable) -> int | None:
    """Return the number of the space that a log belongs to; None: nothing of it is encrypted yet.

    A label can be forged by anyone who may write the store. So the row has to decrypt with the keys
    that it names, and they have to be of a space that began with the same event: otherwise new text
    would be encrypted with keys of another space, and an erasure would leave those of this one.

    Args:
        log: The log, as the inner store holds it.
        keys: The table of keys.

    Raises:
        KeysMissing: The table does not have the keys that the rows name.
        NotEncrypted: The rows are not encrypted.
    """
    genesis = log.digest_at(0)
    if genesis is None:
        return None
    begun = keys.space_begun(log.name, genesis)
    with suppress(LogCorrupt):  # the next fold reports it
        # The first event of a space has a payload, the salt, which only erasing the space removes.
        row = _first_row(log, upto=0)
        if row is None and begun is None:
            row = _first_row(log, upto=None)
        if row is None:
            return begun
        if not cipher.is_encrypted(row.key) and begun is None:
            raise NotEncrypted(f"the text of space {log.name!r} is not encrypted", space=log.name)
        with suppress(cipher.Damaged):
            names = cipher.names(row)
            found = keys.find(names)
            if found is not None:
                cipher.decrypted(row, cipher.cipher_of(found))  # authenticates the label
            locked = keys.space_with(names[0], genesis)
            return begun if locked is None else locked
    return begun


def _first_row(log: Log, *, upto: int | None) -> PayloadRow | None:
    return next((rows[0] for _, rows in log.read(-1, upto) if rows), None)
