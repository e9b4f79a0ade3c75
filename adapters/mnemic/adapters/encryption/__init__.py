"""Words under lock: a store around any other, and the table of keys that opens it."""

from __future__ import annotations

from mnemic.adapters.encryption.keys import KeyTable
from mnemic.adapters.encryption.log import EncryptedLog
from mnemic.adapters.encryption.store import EncryptedStore

__all__ = ["EncryptedLog", "EncryptedStore", "KeyTable"]
