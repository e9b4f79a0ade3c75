"""An encrypted memory keeps the contract of an interface, on a file that handles share."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from mnemic.adapters.inprocess import SyncMemory
from mnemic.kernel.results import ImportResult
from mnemic.specs.contracts import InterfaceContract, Setting

pytestmark = pytest.mark.extended


class LockedMemory(SyncMemory):
    """A memory whose imports use the same keys, as those of a server do."""

    @staticmethod
    def import_space(path: Any, into: Any, **rest: Any) -> ImportResult:
        keys = Path(into).with_name("agent.keys")
        return SyncMemory.import_space(path, into, keys=keys, **rest)


class TestSyncMemoryUnderLock(InterfaceContract):
    def interface(self, setting: Setting) -> AbstractContextManager[Any]:
        return LockedMemory.open(
            setting.folder / "agent.db",
            keys=setting.folder / "agent.keys",
            space=setting.space,
            embedder=setting.embedder,
            clock=setting.clock,
            read_only=setting.read_only,
            synchronous="normal",
        )
