"""A memory in a file, with a folder for checkpoints next to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from mnemic.adapters.checkpoints.directory import beside
from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.system.clocks import ManualClock
from mnemic.adapters.system.entropy import SeededEntropy

Open: TypeAlias = Callable[..., SyncMemory]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "agent.db"


@pytest.fixture
def folder(path: Path) -> Path:
    """The folder of the checkpoints of the memory at ``path``."""
    return beside(path)


@pytest.fixture
def opened(path: Path) -> Iterator[Open]:
    """Open a handle on the file of the test, or on what the test names; all are closed."""
    handles: list[SyncMemory] = []

    def handle(where: object = path, **host: Any) -> SyncMemory:
        host.setdefault("clock", ManualClock())
        host.setdefault("embedder", HashEmbedder(4))
        host.setdefault("entropy", SeededEntropy(f"handle {len(handles)}"))
        if isinstance(where, Path):
            host.setdefault("synchronous", "normal")
        handles.append(SyncMemory.open(where, **host))  # type: ignore[arg-type]
        return handles[-1]

    yield handle
    for memory in handles:
        memory.close()
