"""Runs programs that start processes in order to kill them; each prints a report."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any


def report(program: Path, operation: str, place: Path | str, *numbers: int) -> dict[str, Any]:
    """Run a program in a process of its own, and return what it reports.

    Args:
        program: Takes an operation, a place and numbers, and prints one JSON object.
        operation: What it is to do.
        place: Where.
        numbers: How often, from which seed, ...
    """
    command = [sys.executable, str(program), operation, str(place), *map(str, numbers)]
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(Path.cwd()), *sys.path]),
        "OPENBLAS_NUM_THREADS": "1",  # no threads beside a fork
    }
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    said = f"{program.name} {operation} ended with {done.returncode}: {done.stderr}"
    assert (done.returncode, done.stderr) == (0, ""), said  # campaigns run without pytest
    return json.loads(done.stdout)  # type: ignore[no-any-return]
