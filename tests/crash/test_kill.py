"""Agents are killed while they write, or write one file together: nothing acknowledged is lost."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import pytest

from tests.crash.reports import report

writers = partial(report, Path(__file__).with_name("writers.py"))
OPERATIONS = ["connect", "consolidate", "curate", "learn", "outcome", "recall"]

pytestmark = [
    pytest.mark.extended,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="agents are forked"),
]


def test_every_acknowledged_command_survives_fifty_kills_of_its_agent(tmp_path: Path) -> None:
    report = writers("kill", tmp_path, 1, 60)
    assert (report["sound"], report["operations"]) == (True, OPERATIONS)
    assert report["acknowledged"] > report["kills"] >= 60  # they did work before they died
    assert report["events"] >= report["acknowledged"]


def test_two_agents_share_one_file_and_every_command_is_recorded_once(tmp_path: Path) -> None:
    report = writers("share", tmp_path, 3, 60)
    assert report["statuses"] == [0] * 6
    assert (report["contiguous"], report["sound"]) == (True, True)
    assert (report["told_twice"], report["shared_versions"]) == (0, 0)
    assert report["acknowledged"] > 100
    assert report["actors"] > 1
