"""Encrypted stores: a wrapper around any other store, and the table of keys that decrypts it."""

from __future__ import annotations

from mnemic.adapters.stores.encrypted.keys import KeyTable
from mnemic.adapters.stores.encrypted.log import EncryptedLog
from mnemic.adapters.stores.encrypted.store import EncryptedStore

__all__ = ["EncryptedLog", "EncryptedStore", "KeyTable"]
