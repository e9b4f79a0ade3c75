"""A file of tokens, a manual clock, and predictable entropy."""

from __future__ import annotations

from pathlib import Path

import pytest

from mnemic.adapters.access import Keyring
from mnemic.adapters.system.clocks import ManualClock
from mnemic.adapters.system.entropy import SeededEntropy


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Path of the file of tokens."""
    return tmp_path / "memory.db.tokens"


@pytest.fixture
def keyring(path: Path, clock: ManualClock) -> Keyring:
    """A keyring that creates and revokes tokens."""
    return Keyring.open(path, clock=clock, entropy=SeededEntropy("keyring"))


@pytest.fixture
def server(path: Path, clock: ManualClock) -> Keyring:
    """Another process's keyring, opened before any token was created, which only checks tokens."""
    return Keyring.open(path, clock=clock)
