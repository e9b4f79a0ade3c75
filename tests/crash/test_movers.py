"""Migrations and backups are killed on their way: nothing half-made is seen, the next ends it."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import pytest

from tests.crash.reports import report

movers = partial(report, Path(__file__).with_name("movers.py"))
KILLS = 12

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="movers are forked")


def test_a_migration_that_is_killed_again_and_again_ends_equal_and_without_erased_words(
    tmp_path: Path,
) -> None:
    told = movers("migrate", tmp_path, 1, KILLS)
    assert told.pop("killed") >= KILLS // 2
    assert told == {
        "seen_half": 0,
        "equal": True,
        "behind": 0,
        "left": [],
        "erased_hits": [],
        "sound": True,
    }


def test_a_backup_that_is_killed_is_not_there_or_is_whole(tmp_path: Path) -> None:
    told = movers("backup", tmp_path, 2, KILLS)
    assert told.pop("killed") >= KILLS // 2
    assert told.pop("sound") >= 0
    assert told == {"broken": [], "left": []}
