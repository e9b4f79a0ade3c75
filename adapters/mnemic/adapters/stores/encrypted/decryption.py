"""Decryption of the rows of an encrypted log, with a cache of ciphers for one read."""

from __future__ import annotations

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from mnemic.adapters.stores.encrypted import cipher
from mnemic.adapters.stores.encrypted.cipher import owners_of
from mnemic.adapters.stores.encrypted.keys import KeyTable
from mnemic.adapters.stores.logs import chain
from mnemic.kernel.ports import PayloadRow

CIPHERS_KEPT = 4096
"""Most ciphers that one read caches; deriving one takes longer than decrypting a row."""


class Decrypter:
    """Decrypts the rows of one space during a read.

    Args:
        keys: The table of keys.
        space: Number of the space in it.
    """

    def __init__(self, keys: KeyTable, space: int | None) -> None:
        self._keys = keys
        self._space = space
        self._ciphers: dict[tuple[bytes, ...], AESGCM] = {}

    def decrypted(self, row: PayloadRow) -> PayloadRow | None:
        """Return *row* decrypted; None: an erasure destroyed its key.

        Raises:
            LogCorrupt: It is not what was written.
            KeysMissing: The table of keys is older than the row.
        """
        try:
            names = cipher.names(row)
            found = self._ciphers.get(names) or self._derived(names)
            if found is None:
                self._check_erased(row, names)
                return None
            return cipher.decrypted(row, found)
        except cipher.Damaged as error:
            raise chain.damage(row.version, reason=str(error)) from error

    def _check_erased(self, row: PayloadRow, names: tuple[bytes, ...]) -> None:
        """Refuse a row whose label names destroyed keys of other owners.

        Once its keys are destroyed, nothing else authenticates the label.

        Raises:
            Damaged: The label was replaced.
        """
        if not self._keys.are_of(names, self._space, owners_of(row)):
            raise cipher.Damaged("a label names keys of other owners")

    def _derived(self, names: tuple[bytes, ...]) -> AESGCM | None:
        """Return the cipher of the keys with these names; None: one of them is destroyed."""
        keys = self._keys.find(names)
        if keys is None:
            return None
        if len(self._ciphers) >= CIPHERS_KEPT:
            self._ciphers.clear()
        self._ciphers[names] = found = cipher.cipher_of(keys)
        return found
