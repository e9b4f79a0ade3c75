"""A program that exits while graphs are built exits as it would without."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.extended

PROGRAM = """
import os, sys
sys.path[:] = sys.argv[2:]
from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.ann.graphs import Graphs
from mnemic.adapters.ann.library import obstacle

obstacle()  # found out before, so that a graph is being built at the end
wanted = Graphs(always=True, least=2_000, sizes=(2_000, 2_000))
memory = SyncMemory.open(
    sys.argv[1], embedder=HashEmbedder(), retriever=wanted, synchronous="normal"
)
memory.learn_many([f"keeper {number} trims the lamp" for number in range(2_000)])
memory.consolidate()
for _ in range(3):
    memory.recall("lamp", record=False)
print("asked")
"""


def test_a_program_may_exit_while_graphs_are_built(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-I", "-c", PROGRAM, str(tmp_path / "agent.db"), *sys.path],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "asked\n", "")
