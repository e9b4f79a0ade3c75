"""Anthropic's memory tool on a memory, sync and async."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from anthropic.lib.tools import ToolError

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.integrations.anthropic import AsyncMnemicMemoryTool, MnemicMemoryTool
from mnemic.adapters.integrations.anthropic.files import MemoryFiles
from mnemic.adapters.integrations.records import POLICY
from mnemic.specs.contracts.integrations.memory_tool import MemoryToolContract, Run


@pytest.fixture
def memory() -> Iterator[SyncMemory]:
    with SyncMemory.open(":memory:", embedder=HashEmbedder(), policy=POLICY) as memory:
        yield memory


class OfTool(MemoryToolContract):
    error = ToolError

    @pytest.fixture
    def files(self, memory: SyncMemory, run: Run) -> Callable[[], Mapping[str, str]]:
        del run
        known = MemoryFiles(memory)
        return lambda: {
            "/".join(("/memories", *record.path)): record.value for record in known.all()
        }


class TestSync(OfTool):
    @pytest.fixture
    def run(self, memory: SyncMemory) -> Run:
        tool = MnemicMemoryTool(memory)
        return lambda command, **fields: str(tool.call({"command": command, **fields}))


class TestAsync(OfTool):
    @pytest.fixture
    def run(self, memory: SyncMemory) -> Run:
        tool = AsyncMnemicMemoryTool(memory)

        async def called(given: dict[str, Any]) -> str:
            return str(await tool.call(given))

        return lambda command, **fields: asyncio.run(called({"command": command, **fields}))


def test_the_tool_presents_itself(memory: SyncMemory) -> None:
    presented = {"type": "memory_20250818", "name": "memory"}
    assert MnemicMemoryTool(memory).to_dict() == presented
    assert AsyncMnemicMemoryTool(memory).to_dict() == presented


def test_every_edit_can_be_seen_and_taken_back(memory: SyncMemory) -> None:
    tool = MnemicMemoryTool(memory)
    tool.call({"command": "create", "path": "/memories/a.md", "file_text": "Ines: Oslo\n"})
    before = memory.status().version
    tool.call(
        {"command": "str_replace", "path": "/memories/a.md", "old_str": "Oslo", "new_str": "Rome"}
    )
    texts = [text for _, text in tool.files.revisions("/memories/a.md")]
    assert texts == ["Ines: Oslo\n", "Ines: Rome\n"]
    memory.revert(before + 1, memory.status().version, reason="it was a joke")
    assert "Oslo" in str(tool.call({"command": "view", "path": "/memories/a.md"}))
    assert memory.verify().sound


def test_files_are_recalled(memory: SyncMemory) -> None:
    tool = MnemicMemoryTool(memory)
    tool.call({"command": "create", "path": "/memories/a.md", "file_text": "Ines is in Oslo."})
    (block,) = memory.recall("Where is Ines?").blocks
    assert block.content == "Ines is in Oslo."


def test_files_of_a_scope_are_seen_in_it_alone(memory: SyncMemory) -> None:
    ann, bob = (MnemicMemoryTool(memory, scope={"user": user}) for user in ("ann", "bob"))
    ann.call({"command": "create", "path": "/memories/a.md", "file_text": "mine"})
    with pytest.raises(ToolError):
        bob.call({"command": "view", "path": "/memories/a.md"})
    assert bob.clear_all_memory() == "All memory cleared"
    assert "mine" in str(ann.call({"command": "view", "path": "/memories/a.md"}))


def test_what_the_space_refuses_is_told_to_the_model(memory: SyncMemory) -> None:
    tool = MnemicMemoryTool(memory)
    given = {"command": "create", "path": "/memories/a.md", "file_text": "x" * 1_000_001}
    with pytest.raises(ToolError, match="1000001 characters"):
        tool.call(given)
