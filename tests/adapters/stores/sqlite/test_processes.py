"""Other processes write the same file, or are killed while they do."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import pytest

from tests.crash.reports import report

nursery = partial(report, Path(__file__).with_name("nursery.py"))

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="children are forked")


def test_nothing_acknowledged_is_lost_when_a_writer_is_killed(tmp_path: Path) -> None:
    report = nursery("kill", tmp_path, 7, 60)
    assert report["kills"] == 60
    assert report["acknowledged"] > 60  # they did write before they died


def test_four_processes_share_one_space_without_a_gap(tmp_path: Path) -> None:
    report = nursery("race", tmp_path, 4, 100)
    assert report["statuses"] == [0, 0, 0, 0]
    assert report["shares"] == [100, 100, 100, 100]
    assert report["worst_wait_s"] < 5  # generous: a starved writer would wait for all the others
