from __future__ import annotations

from pathlib import Path

import pytest

from mnemic.adapters.codec import Codec
from mnemic.adapters.stores.postgres import PostgresStore
from mnemic.adapters.stores.vector_payloads import Embeddings
from mnemic.adapters.system.entropy import SeededEntropy
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


class TestPostgresStoreThatKeepsVectors(StoreContract):
    @pytest.fixture(autouse=True)
    def served(self, address: str) -> None:
        self.address = address

    def store(self, tmp_path: Path) -> Store:  # noqa: ARG002
        return PostgresStore(self.address, recogniser=Embeddings(Codec(SeededEntropy("store"))))
