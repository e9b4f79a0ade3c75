"""The sample history, run once for all tests of this folder; its answers are only read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.adapters.remote.sample_history import lived


@pytest.fixture(scope="session")
def answers(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, Any]]:
    """Return every answer of the sample history, with its operation."""
    folder: Path = tmp_path_factory.mktemp("life")
    return lived(folder)
