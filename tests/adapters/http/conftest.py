"""An interface for each test."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from tests.adapters.http.interfaces import NOTES, Interface, interface


@pytest.fixture
def opened(tmp_path: Path) -> Generator[Interface]:
    """An interface with the default settings of a server."""
    with interface(tmp_path) as it:
        yield it


@pytest.fixture(scope="module")
def refusing(tmp_path_factory: pytest.TempPathFactory) -> Generator[Interface]:
    """An interface shared by a module's tests that change nothing; checks that nothing changed."""
    with interface(tmp_path_factory.mktemp("interface")) as it:
        yield it
        assert it.ask("GET", NOTES).headers["mnemic-version"] == "1"
