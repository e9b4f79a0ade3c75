"""Interface contract of the in-process interface on PostgreSQL, in a schema shared by handles."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any

import pytest

from mnemic.adapters.inprocess import SyncMemory
from mnemic.kernel.errors import CheckpointsOff
from mnemic.specs.contracts import InterfaceContract, Setting
from tests.adapters.stores.postgres import server as servers


@pytest.fixture(scope="module")
def server() -> Generator[str]:
    with servers.SHARED.served() as address:
        yield address


@pytest.mark.extended
class TestSyncMemoryOnAServer(InterfaceContract):
    @pytest.fixture(autouse=True)
    def reach(self, server: str) -> Generator[None]:
        with ExitStack() as self.schemas:
            self.server = server
            self.addresses: dict[Path, str] = {}
            yield

    def store(self, setting: Setting) -> str:
        if setting.folder not in self.addresses:  # as on a disk: another folder, another store
            made = self.schemas.enter_context(servers.schema(self.server))
            self.addresses[setting.folder] = made
        return self.addresses[setting.folder]

    def interface(self, setting: Setting) -> AbstractContextManager[Any]:
        return SyncMemory.open(
            self.store(setting),
            space=setting.space,
            embedder=setting.embedder,
            clock=setting.clock,
            read_only=setting.read_only,
            synchronous="normal",
            checkpoints=setting.folder / "checkpoints",
        )


def test_checkpoints_are_kept_only_in_a_folder_that_a_host_names(
    server: str, tmp_path: Path
) -> None:
    with servers.schema(server) as address:
        with SyncMemory.open(address, checkpoints=tmp_path) as memory:
            memory.learn("The demo is on Thursday.")
            made = memory.checkpoint()
        with SyncMemory.open(address, checkpoints=tmp_path, read_only=True) as memory:
            assert memory.status().version == made.version
            assert [each.version for each in memory.checkpoints()] == [made.version]
        with SyncMemory.open(address) as memory, pytest.raises(CheckpointsOff):
            memory.checkpoint()
