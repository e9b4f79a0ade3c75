"""The command line keeps the contract of a door, as far as a run of its own for each verb can."""

from __future__ import annotations

import shutil
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen

from mnemic.adapters.inprocess import SyncMemory
from mnemic.specs.contracts import DoorContract, Setting
from mnemic.specs.contracts.doorsteps import Door, learned
from mnemic.specs.contracts.wishes import LESSONS
from tests.agreement.commandline import LACKS, CommandLine

FILE = "agent.db"


@frozen(kw_only=True)
class Lessons:
    """A store with the lessons in it, to be copied."""

    folder: Path
    ids: dict[str, str]


@pytest.fixture(scope="module")
def lessons(tmp_path_factory: pytest.TempPathFactory) -> Lessons:
    """Learn the lessons through the door in this process; by commands it takes ten times longer."""
    folder = tmp_path_factory.mktemp("lessons")
    with SyncMemory.open(folder / FILE, synchronous="normal", checkpoints=False) as memory:
        ids = {name: learned(memory, content) for name, content in LESSONS.items()}
        memory.consolidate()
    return Lessons(folder=folder, ids=ids)


class TestCommandLine(DoorContract):
    lacks = LACKS

    def door(self, setting: Setting) -> AbstractContextManager[Any]:
        return CommandLine(setting.folder / FILE, space=setting.space)

    @pytest.fixture
    def ids(self, lessons: Lessons, memory: Door, tmp_path: Path) -> dict[str, str]:
        """Copy the lessons to where *memory* looks for them."""
        assert isinstance(memory, CommandLine)
        shutil.copytree(lessons.folder, tmp_path, dirs_exist_ok=True)
        return {**lessons.ids}
