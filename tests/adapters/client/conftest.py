from __future__ import annotations

from collections.abc import Generator
from contextlib import ExitStack
from pathlib import Path

import pytest

from mnemic.adapters.client import SyncMemory
from mnemic.adapters.system.clocks import ManualClock
from mnemic.specs.strategies.vectors import PlaneEmbedder
from tests.adapters.client.serving import Served, Servers


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture(scope="module")
def servers() -> Generator[Servers]:
    """Servers for the tests of a module: other modules have tests that allow no other thread."""
    with ExitStack() as stack:
        yield Servers(stack)


@pytest.fixture
def server(servers: Servers, tmp_path: Path, clock: ManualClock) -> Generator[Served]:
    with servers.serving(tmp_path, embedder=PlaneEmbedder(), clock=clock) as served:
        yield served


@pytest.fixture
def memory(server: Served) -> Generator[SyncMemory]:
    with SyncMemory.open(server.address, token=server.token("ines"), make=True) as memory:
        yield memory
