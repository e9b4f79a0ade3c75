"""A re-embedding whose process is killed is continued, and nothing is lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.kernel.policy import Policy

PROGRAM = Path(__file__).with_name("reembedder.py")
OLD, NEW = HashEmbedder(32), HashEmbedder(64)
QUESTION = "which note tells of lamp 3?"

pytestmark = [
    pytest.mark.extended,
    pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL"),
]


def test_a_killed_reembedding_is_continued_by_another_process(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    with SyncMemory.open(path, embedder=OLD, policy=Policy(consolidate_chunk=4)) as memory:
        memory.learn_many([f"note {each} tells of lamp {each}" for each in range(11)])
        memory.consolidate()
        before = memory.recall(QUESTION)
    killed = subprocess.run(
        [sys.executable, str(PROGRAM), str(path)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL
    with SyncMemory.open(path, embedder=OLD) as memory:
        assert memory.timeline().kinds["vectors-staged"] == 2
        assert memory.recall(QUESTION, record=False).block_ids == before.block_ids
        assert memory.reembed(NEW).staged == 3
    with SyncMemory.open(path, embedder=NEW) as memory:
        assert memory.verify().sound
        assert memory.status().active == 11
        assert memory.replay(before.decision_id or "").outcome == "reproduced"
