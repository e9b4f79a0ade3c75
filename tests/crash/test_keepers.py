"""Agents are killed over their checkpoints, or race for them: the state is right all the same."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

KEEPERS = Path(__file__).with_name("keepers.py")

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="agents are forked")


def keepers(verb: str, folder: Path, *numbers: int) -> dict[str, Any]:
    command = [sys.executable, str(KEEPERS), verb, str(folder), *map(str, numbers)]
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(Path.cwd()), *sys.path]),
        "OPENBLAS_NUM_THREADS": "1",  # no threads beside a fork
    }
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def test_whoever_dies_over_a_checkpoint_leaves_the_one_before(tmp_path: Path) -> None:
    report = keepers("kill", tmp_path, 1, 25)
    assert (report["right"], report["from_checkpoint"], report["stayed"]) == (25, 25, 0)
    assert report["left"] > 0  # some did die in the middle


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
