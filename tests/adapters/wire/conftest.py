"""One life, lived once for all tests of this folder: its answers are only read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.adapters.wire.life import lived


@pytest.fixture(scope="session")
def answers(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, Any]]:
    """Return every answer of the life, with the verb that gave it."""
    folder: Path = tmp_path_factory.mktemp("life")
    return lived(folder)
