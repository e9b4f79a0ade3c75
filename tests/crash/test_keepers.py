"""Agents are killed during checkpoints, or race for them: the state is right all the same."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import pytest

from tests.crash.reports import report

keepers = partial(report, Path(__file__).with_name("keepers.py"))

pytestmark = [
    pytest.mark.extended,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="agents are forked"),
]


def test_a_process_killed_while_writing_a_checkpoint_leaves_the_previous_one(
    tmp_path: Path,
) -> None:
    report = keepers("kill", tmp_path, 1, 25)
    assert (report["right"], report["from_checkpoint"], report["stayed"]) == (25, 25, 0)
    assert report["left"] >= 5  # these did die in the middle


def test_two_agents_keep_checkpoints_of_one_file(tmp_path: Path) -> None:
    assert keepers("share", tmp_path, 20) == {
        "statuses": [0, 0],
        "unfinished": 0,
        "right": True,
        "from_checkpoint": True,
        "states": ["valid", "valid"],
    }


def test_no_checkpoint_of_any_agent_outlives_an_erasure(tmp_path: Path) -> None:
    assert keepers("erase", tmp_path, 20) == {"statuses": [0, 0], "secrets": 0, "right": True}
