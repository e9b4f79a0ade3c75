"""Both faces of the in-process door keep the contract, on a file that several handles share."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import AbstractContextManager
from typing import Any

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal

from mnemic.adapters.inprocess import Memory, SyncMemory
from mnemic.specs.contracts import DoorContract, Setting
from tests.agreement.doors import awaited


def opening(setting: Setting) -> dict[str, Any]:
    """Return the arguments of ``open``."""
    return {
        "path": setting.folder / "agent.db",
        "space": setting.space,
        "embedder": setting.embedder,
        "clock": setting.clock,
        "read_only": setting.read_only,
        "synchronous": "normal",
    }


@pytest.fixture(scope="module")
def portal() -> Generator[BlockingPortal]:
    with start_blocking_portal() as started:
        yield started


class TestSyncMemory(DoorContract):
    def door(self, setting: Setting) -> AbstractContextManager[Any]:
        return SyncMemory.open(**opening(setting))


class TestMemory(DoorContract):
    @pytest.fixture(autouse=True)
    def reach(self, portal: BlockingPortal) -> None:
        self.portal = portal

    def door(self, setting: Setting) -> AbstractContextManager[Any]:
        return awaited(Memory.open(**opening(setting)), self.portal)
