"""A door for each test."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from tests.adapters.http.doors import NOTES, Door, door


@pytest.fixture
def opened(tmp_path: Path) -> Generator[Door]:
    """A door with the settings that a server has by default."""
    with door(tmp_path) as it:
        yield it


@pytest.fixture(scope="module")
def refusing(tmp_path_factory: pytest.TempPathFactory) -> Generator[Door]:
    """A door for all tests of a module that change nothing, and see that nothing changes."""
    with door(tmp_path_factory.mktemp("door")) as it:
        yield it
        assert it.ask("GET", NOTES).headers["mnemic-version"] == "1"
