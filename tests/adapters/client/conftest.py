from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from mnemic.adapters.client import SyncMemory
from mnemic.adapters.clocks import ManualClock
from mnemic.specs.strategies.vectors import PlaneEmbedder
from tests.adapters.client.serving import Served, serving


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def server(tmp_path: Path, clock: ManualClock) -> Generator[Served]:
    with serving(tmp_path, embedder=PlaneEmbedder(), clock=clock) as served:
        yield served


@pytest.fixture
def memory(server: Served) -> Generator[SyncMemory]:
    with SyncMemory.open(server.address, token=server.token("ines"), make=True) as memory:
        yield memory
