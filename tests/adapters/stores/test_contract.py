from __future__ import annotations

from pathlib import Path

from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.stores.sqlite import SQLiteStore
from mnemic.kernel.ports import Store
from mnemic.specs.contracts import StoreContract


class TestMemoryStore(StoreContract):
    persists = False

    def store(self, tmp_path: Path) -> Store:  # noqa: ARG002
        return MemoryStore()


class TestSQLiteStore(StoreContract):
    def store(self, tmp_path: Path) -> Store:
        return SQLiteStore(tmp_path / "agent.db")


class TestSQLiteStoreThatTrustsThePowerSupply(StoreContract):
    def store(self, tmp_path: Path) -> Store:
        return SQLiteStore(tmp_path / "agent.db", synchronous="normal")
