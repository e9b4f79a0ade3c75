"""Where the library could not be compiled, only the fallback is tested."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from mnemic.adapters.ann import library
from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.system.clocks import ManualClock
from mnemic.adapters.system.entropy import SeededEntropy
from tests.adapters.ann.memories import SMALL, Open

NEEDS_THE_LIBRARY = ["test_hnsw.py", "test_keeping.py", "test_leaving.py", "test_command_line.py"]

collect_ignore = [] if library.obstacle() is None else NEEDS_THE_LIBRARY


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Open]:
    with ExitStack() as stack:

        def handle(**host: Any) -> SyncMemory:
            host.setdefault("retriever", SMALL)
            host.setdefault("embedder", HashEmbedder())
            return stack.enter_context(
                SyncMemory.open(
                    tmp_path / "agent.db",
                    clock=ManualClock(),
                    entropy=SeededEntropy("graphs"),
                    synchronous="normal",
                    **host,
                )
            )

        yield handle
