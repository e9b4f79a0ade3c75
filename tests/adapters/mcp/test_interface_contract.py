"""The MCP interface fulfils the interface contract: each operation through its tool."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import AbstractContextManager
from typing import Any

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal

from mnemic.specs.contracts import InterfaceContract, Setting
from tests.adapters.inprocess.test_interface_contract import opening
from tests.adapters.mcp.interfaces import connected


@pytest.fixture(scope="module")
def portal() -> Generator[BlockingPortal]:
    with start_blocking_portal() as started:
        yield started


class TestTools(InterfaceContract):
    lacks = frozenset(
        """
        export fork.into import_space last_learned_block_id last_recall_block_ids reembed
        session_handle session session_block_ids to_markdown
        """.split()
    )
    """A remote client cannot name files on the server's machine, or models that are not named by a
    text, and lists blocks page by page. Each connection has one session handle; the blocks that it
    touched are shown by a prompt and listed as resources."""

    @pytest.fixture(autouse=True)
    def reach(self, portal: BlockingPortal) -> None:
        self.portal = portal

    def interface(self, setting: Setting) -> AbstractContextManager[Any]:
        return connected(self.portal, **opening(setting))
