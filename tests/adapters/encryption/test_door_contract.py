"""A memory under lock keeps the contract of a door, on a file that several handles share."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from mnemic.adapters.inprocess import SyncMemory
from mnemic.kernel.results import ImportResult
from mnemic.specs.contracts import DoorContract, Setting


class LockedMemory(SyncMemory):
    """A memory whose imports go under the same keys, as those of a server do."""

    @staticmethod
    def import_space(path: Any, into: Any, **rest: Any) -> ImportResult:
        keys = Path(into).with_name("agent.keys")
        return SyncMemory.import_space(path, into, keys=keys, **rest)


class TestSyncMemoryUnderLock(DoorContract):
    def door(self, setting: Setting) -> AbstractContextManager[Any]:
        return LockedMemory.open(
            setting.folder / "agent.db",
            keys=setting.folder / "agent.keys",
            space=setting.space,
            embedder=setting.embedder,
            clock=setting.clock,
            read_only=setting.read_only,
            synchronous="normal",
        )
