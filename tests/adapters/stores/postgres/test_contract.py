from __future__ import annotations

from pathlib import Path

import pytest

from mnemic.adapters.stores.postgres import PostgresStore
from mnemic.kernel.ports import Store
from mnemic.specs.contracts import StoreContract


class TestPostgresStore(StoreContract):
    @pytest.fixture(autouse=True)
    def served(self, address: str) -> None:
        self.address = address

    def store(self, tmp_path: Path) -> Store:  # noqa: ARG002
        return PostgresStore(self.address)


class TestPostgresStoreThatTrustsTheServer(StoreContract):
    @pytest.fixture(autouse=True)
    def served(self, address: str) -> None:
        self.address = address

    def store(self, tmp_path: Path) -> Store:  # noqa: ARG002
        return PostgresStore(self.address, synchronous="normal")
