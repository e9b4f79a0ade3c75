"""Migrations and backups are killed: nothing unfinished is visible, and the next run completes."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import pytest

from tests.crash.reports import report

movers = partial(report, Path(__file__).with_name("movers.py"))
KILLS = 12

pytestmark = [
    pytest.mark.extended,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="movers are forked"),
]


def test_a_repeatedly_killed_migration_ends_equal_without_erased_text(
    tmp_path: Path,
) -> None:
    answer = movers("migrate", tmp_path, 1, KILLS)
    assert answer.pop("killed") >= KILLS // 2
    assert answer == {
        "seen_half": 0,
        "equal": True,
        "behind": 0,
        "left": [],
        "erased_hits": [],
        "sound": True,
    }


def test_a_killed_backup_is_absent_or_complete(tmp_path: Path) -> None:
    answer = movers("backup", tmp_path, 2, KILLS)
    assert answer.pop("killed") >= KILLS // 2
    assert answer.pop("sound") >= 0
    assert answer == {"broken": [], "left": []}
