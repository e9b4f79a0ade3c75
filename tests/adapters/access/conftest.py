"""A file of tokens, a clock that stands still, and entropy that a test can guess."""

from __future__ import annotations

from pathlib import Path

import pytest

from mnemic.adapters.access import Keyring
from mnemic.adapters.clocks import ManualClock
from mnemic.adapters.entropy import SeededEntropy


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the tokens of a test stand, once there are some."""
    return tmp_path / "memory.db.tokens"


@pytest.fixture
def keyring(path: Path, clock: ManualClock) -> Keyring:
    """Who makes tokens, and takes them back."""
    return Keyring.open(path, clock=clock, entropy=SeededEntropy("keyring"))


@pytest.fixture
def server(path: Path, clock: ManualClock) -> Keyring:
    """Another process that was opened before anything was made, and is only asked."""
    return Keyring.open(path, clock=clock)
