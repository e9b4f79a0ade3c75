"""Interface contract of ``SyncMemory`` and ``Memory``, on a file shared by several handles."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import AbstractContextManager
from typing import Any

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal

from mnemic.adapters.inprocess import Memory, SyncMemory
from mnemic.specs.contracts import InterfaceContract, Setting
from tests.agreement.interfaces.interfaces import awaited


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


class TestSyncMemory(InterfaceContract):
    def interface(self, setting: Setting) -> AbstractContextManager[Any]:
        return SyncMemory.open(**opening(setting))


class TestMemory(InterfaceContract):
    @pytest.fixture(autouse=True)
    def reach(self, portal: BlockingPortal) -> None:
        self.portal = portal

    def interface(self, setting: Setting) -> AbstractContextManager[Any]:
        return awaited(Memory.open(**opening(setting)), self.portal)
