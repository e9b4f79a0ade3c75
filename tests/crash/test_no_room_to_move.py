"""The target disk is full: the error is reported, nothing unfinished is left, and a retry works."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mnemic.adapters.files.temporary_folders import MIGRATION
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.transfer.backup import backup, restore
from mnemic.adapters.transfer.migration import migrate
from mnemic.adapters.transfer.salvage import salvage
from mnemic.kernel.errors import StoreFailed, StoreFull
from tests.crash.limits import files_of

ROOM_BYTES = 2**17
MOVES: dict[str, Callable[[Path, Path], object]] = {
    "backup": backup,
    "migrate": migrate,
    "restore": lambda source, target: restore(source.with_name("kept.db"), target),
    "salvage": salvage,
}

pytestmark = [
    pytest.mark.extended,
    pytest.mark.skipif(sys.platform == "win32", reason="no limit on files there"),
]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A memory that does not fit, and a backup of it."""
    path = tmp_path / "source.db"
    with SyncMemory.open(path, synchronous="normal") as memory:
        memory.learn_many([f"fact {number} {'and so on ' * 30}" for number in range(900)])
    backup(path, tmp_path / "kept.db")
    return path


@pytest.mark.parametrize("move", MOVES)
def test_a_copy_that_does_not_fit_is_absent_until_there_is_space(
    source: Path, tmp_path: Path, move: str
) -> None:
    place = tmp_path / "place"
    place.mkdir()
    with files_of(ROOM_BYTES), pytest.raises((StoreFull, StoreFailed)) as refused:
        MOVES[move](source, place / "target.db")
    assert "disk" in refused.value.recovery
    left = [each.name for each in place.iterdir() if not each.name.endswith(MIGRATION)]
    assert left == []
    MOVES[move](source, place / "target.db")
    with SyncMemory.open(place / "target.db", read_only=True) as memory:
        assert (memory.status().inbox, memory.verify().sound) == (900, True)
