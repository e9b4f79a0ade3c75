from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory

Open: TypeAlias = Callable[..., SyncMemory]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the path of the store, in a folder of its own."""
    folder = tmp_path / "store"
    folder.mkdir()
    return folder / "agent.db"


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    """Return the path of its keys, in another folder."""
    folder = tmp_path / "keys"
    folder.mkdir()
    return folder / "agent.keys"


@pytest.fixture
def opened(path: Path, keys: Path) -> Generator[Open]:
    """Open memories of the store, or of another *at* a path, and close them after the test."""
    with ExitStack() as stack:

        def opened(at: Path = path, **options: Any) -> SyncMemory:
            given: dict[str, Any] = {"embedder": HashEmbedder(16), "keys": keys} | options
            return stack.enter_context(SyncMemory.open(at, **given))

        yield opened
