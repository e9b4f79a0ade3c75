"""Other processes write the same file, or are killed while they do."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

NURSERY = Path(__file__).with_name("nursery.py")

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="children are forked")


def nursery(verb: str, folder: Path, *numbers: int) -> dict[str, Any]:
    command = [sys.executable, str(NURSERY), verb, str(folder), *map(str, numbers)]
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(sys.path),
        "OPENBLAS_NUM_THREADS": "1",  # no threads beside a fork
    }
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def test_nothing_acknowledged_is_lost_when_a_writer_is_killed(tmp_path: Path) -> None:
    report = nursery("kill", tmp_path, 7, 60)
    assert report["kills"] == 60
    assert report["acknowledged"] > 60  # they did write before they died


def test_four_processes_share_one_space_without_a_gap(tmp_path: Path) -> None:
    report = nursery("race", tmp_path, 4, 100)
    assert report["statuses"] == [0, 0, 0, 0]
    assert report["shares"] == [100, 100, 100, 100]
    assert report["worst_wait_s"] < 5  # generous: a starved writer would wait for all the others
