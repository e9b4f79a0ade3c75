from __future__ import annotations

from pathlib import Path

from mnemic.adapters.stores.encrypted import EncryptedStore, KeyTable
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.stores.sqlite import SQLiteStore
from mnemic.kernel.ports import Store
from mnemic.specs.contracts import StoreContract


class TestAnEncryptedStoreInMemory(StoreContract):
    persists = False

    def store(self, tmp_path: Path) -> Store:
        return EncryptedStore(MemoryStore(), KeyTable(tmp_path / "agent.keys"))


class TestAnEncryptedSQLiteStore(StoreContract):
    def store(self, tmp_path: Path) -> Store:
        return EncryptedStore(SQLiteStore(tmp_path / "agent.db"), KeyTable(tmp_path / "agent.keys"))
