"""Spaces of an encrypted store: served like others, and erased like others."""

from __future__ import annotations

from pathlib import Path

import pytest

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.hosting import Spaces
from mnemic.kernel.errors import KeysMissing

STORY = "the vault code is mellifluous zanzibar"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.anyio
async def test_a_server_serves_and_creates_encrypted_spaces(path: Path, keys: Path) -> None:
    async with Spaces(path, keys=keys, embedder=HashEmbedder(16)) as spaces:
        assert await spaces.make("notes")
        async with spaces.session_handle("notes", actor="ines") as memory:
            block = (await memory.learn(STORY)).block_id
            assert (await memory.block(block)).content == STORY
        await spaces.check()
    async with Spaces(path, embedder=HashEmbedder(16)) as spaces:
        assert await spaces.names() == ("notes",)
        with pytest.raises(KeysMissing):
            await spaces.hold("notes")
