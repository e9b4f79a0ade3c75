"""The MCP door keeps the contract of all doors: each verb through the tool that reaches it."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import AbstractContextManager
from typing import Any

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal

from mnemic.specs.contracts import DoorContract, Setting
from tests.adapters.inprocess.test_door_contract import opening
from tests.adapters.mcp.doors import connected


@pytest.fixture(scope="module")
def portal() -> Generator[BlockingPortal]:
    with start_blocking_portal() as started:
        yield started


class TestTools(DoorContract):
    lacks = frozenset(
        """
        export fork.into import_space last_learned_block_id last_recall_block_ids reembed seat
        session session_block_ids
        """.split()
    )
    """Nobody names over a wire files of the server's machine, or models that are no words. A seat
    is what each connection has; what it touched stands in a prompt, and is listed as resources."""

    @pytest.fixture(autouse=True)
    def reach(self, portal: BlockingPortal) -> None:
        self.portal = portal

    def door(self, setting: Setting) -> AbstractContextManager[Any]:
        return connected(self.portal, **opening(setting))
