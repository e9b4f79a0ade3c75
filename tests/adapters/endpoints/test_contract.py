"""Models behind an address keep the contracts of the ports, whatever the server is made of."""

from __future__ import annotations

import pytest

from mnemic.kernel.ports import Analyst, Embedder
from mnemic.specs.contracts import AnalystContract, EmbedderContract
from tests.adapters.endpoints.conftest import Chatting, Embedding


class TestEndpointEmbedder(EmbedderContract):
    @pytest.fixture(autouse=True)
    def reach(self, embedding: Embedding) -> None:
        self.embedding = embedding

    def embedder(self) -> Embedder:
        return self.embedding(batch_size=32)


class TestChatAnalyst(AnalystContract):
    @pytest.fixture(autouse=True)
    def reach(self, chatting: Chatting) -> None:
        self.chatting = chatting

    def analyst(self) -> Analyst:
        return self.chatting(concurrency=3)
