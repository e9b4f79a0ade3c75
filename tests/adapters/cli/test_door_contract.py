"""The command line keeps the contract of a door, as far as a run of its own for each verb can."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from mnemic.adapters.inprocess import SyncMemory
from mnemic.specs.contracts import DoorContract, Setting
from mnemic.specs.contracts.wishes import LESSONS, LONG_AGO
from tests.agreement.commandline import LACKS, CommandLine


class TestCommandLine(DoorContract):
    lacks = LACKS

    def door(self, setting: Setting) -> AbstractContextManager[Any]:
        return CommandLine(setting.folder / "agent.db")

    @pytest.fixture
    def ids(self, tmp_path: Path) -> dict[str, str]:
        """Learn the lessons through the door in this process, which takes a tenth of the time."""
        with SyncMemory.open(tmp_path / "agent.db", synchronous="normal") as memory:
            found = {
                name: memory.learn(content, created_at=LONG_AGO).block_id
                for name, content in LESSONS.items()
            }
            memory.consolidate()
        return {**found}
