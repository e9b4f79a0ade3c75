"""Both client classes fulfil the interface contract, over a real server on loopback."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any, ClassVar

import pytest

from mnemic.adapters.client import Memory, SyncMemory
from mnemic.specs.contracts import InterfaceContract, Setting
from tests.adapters.client.serving import Served, Servers
from tests.agreement.interfaces.interfaces import awaited


class Contract(InterfaceContract):
    """The contract, on servers whose spaces last as long as a test."""

    lacks: ClassVar = frozenset({"fork.into", "import_space.actor", "reembed", "session_handle"})

    @pytest.fixture(autouse=True)
    def _servers(self, servers: Servers) -> Generator[None]:
        with ExitStack() as self.stack:
            self.all = servers
            self.servers: dict[tuple[Path, bool], tuple[Served, str]] = {}
            yield

    def served(self, setting: Setting) -> tuple[Served, dict[str, Any]]:
        """Return the server of a store, and what ``open`` is given for it."""
        key = setting.folder, setting.read_only
        if key not in self.servers:
            server = self.stack.enter_context(
                self.all.serving(
                    setting.folder,
                    clock=setting.clock,
                    embedder=setting.embedder,
                    read_only=setting.read_only,
                )
            )
            self.servers[key] = server, server.token(f"agent{len(self.servers)}")
        server, token = self.servers[key]
        return server, {
            "address": server.address,
            "space": setting.space,
            "token": token,
            "make": not setting.read_only,
            "backoff_s": 0.0,
        }


class TestSyncMemory(Contract):
    def interface(self, setting: Setting) -> AbstractContextManager[Any]:
        return SyncMemory.open(**self.served(setting)[1])

    def store(self, setting: Setting) -> Any:
        return self.stack.enter_context(SyncMemory.open(**self.served(setting)[1]))


@pytest.mark.extended
class TestMemory(Contract):
    def interface(self, setting: Setting) -> AbstractContextManager[Any]:
        server, given = self.served(setting)
        return awaited(Memory.open(**given), server.portal)

    def store(self, setting: Setting) -> Any:
        server, given = self.served(setting)
        memory = Memory.open(**given)
        self.stack.enter_context(server.portal.wrap_async_context_manager(memory))
        return memory
