"""Where nobody could compile the library there is nothing to test."""

from __future__ import annotations

import pytest

from mnemic.adapters.proximity import library

collect_ignore = [] if library.obstacle() is None else ["test_hnsw.py", "test_keeping.py"]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
