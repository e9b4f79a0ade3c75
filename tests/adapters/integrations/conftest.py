"""The memory that the integrations are tested on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory


@pytest.fixture
def memory() -> Iterator[SyncMemory]:
    with SyncMemory.open(":memory:", embedder=HashEmbedder()) as memory:
        yield memory
