"""One space in memory, a clock that obeys, entropy that repeats: nothing here is left to chance."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from mnemic.adapters.clocks import ManualClock
from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.entropy import SeededEntropy
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.memory import MemoryStore

Open: TypeAlias = Callable[..., SyncMemory]


@pytest.fixture
def anyio_backend() -> str:
    """Trio is no dependency; the verbs run on worker threads either way."""
    return "asyncio"


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "agent.db"


@pytest.fixture
def opened(clock: ManualClock, store: MemoryStore) -> Generator[Open]:
    """Open a handle on the store of the test, or on what the test names; all are closed."""
    handles = count()
    with ExitStack() as stack:

        def handle(where: object = store, **host: Any) -> SyncMemory:
            host.setdefault("clock", clock)
            host.setdefault("embedder", HashEmbedder())
            host.setdefault("entropy", SeededEntropy(f"handle {next(handles)}"))
            if isinstance(where, Path):
                host.setdefault("synchronous", "normal")
            return stack.enter_context(SyncMemory.open(where, **host))  # type: ignore[arg-type]

        yield handle


@pytest.fixture
def memory(opened: Open) -> SyncMemory:
    return opened()
