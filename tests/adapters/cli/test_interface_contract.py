"""The command line fulfils the interface contract, as far as one run per operation can."""

from __future__ import annotations

import shutil
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen

from mnemic.adapters.inprocess import SyncMemory
from mnemic.specs.contracts import InterfaceContract, Setting
from mnemic.specs.contracts.interface.fixtures import Interface, learned
from mnemic.specs.contracts.interface.sample_requests import LESSONS
from tests.agreement.interfaces.command_line import LACKS, CommandLine

pytestmark = pytest.mark.extended

FILE = "agent.db"


@frozen(kw_only=True)
class Lessons:
    """A store with the lessons in it, to be copied."""

    folder: Path
    ids: dict[str, str]


@pytest.fixture(scope="module")
def lessons(tmp_path_factory: pytest.TempPathFactory) -> Lessons:
    """Learn the lessons through the in-process interface; by commands it takes ten times longer."""
    folder = tmp_path_factory.mktemp("lessons")
    with SyncMemory.open(folder / FILE, synchronous="normal", checkpoints=False) as memory:
        ids = {name: learned(memory, content) for name, content in LESSONS.items()}
        memory.consolidate()
    return Lessons(folder=folder, ids=ids)


class TestCommandLine(InterfaceContract):
    lacks = LACKS

    def interface(self, setting: Setting) -> AbstractContextManager[Any]:
        return CommandLine(setting.folder / FILE, space=setting.space)

    @pytest.fixture
    def ids(self, lessons: Lessons, memory: Interface, tmp_path: Path) -> dict[str, str]:
        """Copy the lessons to where *memory* looks for them."""
        assert isinstance(memory, CommandLine)
        shutil.copytree(lessons.folder, tmp_path, dirs_exist_ok=True)
        return {**lessons.ids}
