"""A session of the OpenAI Agents SDK on a memory."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.integrations.openai_agents import MnemicSession
from mnemic.specs.contracts.integrations.agent_session import (
    ITEMS,
    AgentSessionContract,
    MakeSession,
)


class TestContract(AgentSessionContract):
    @pytest.fixture
    def make(self, memory: SyncMemory) -> MakeSession:
        def make(session_id: str, limit: int | None = None) -> MnemicSession:
            settings = SimpleNamespace(limit=limit)
            return MnemicSession(session_id, memory, session_settings=settings)

        return make


def test_what_was_taken_back_stays_in_the_past(memory: SyncMemory) -> None:
    session = MnemicSession("a", memory)
    asyncio.run(session.add_items(ITEMS))
    before = memory.status().version
    assert asyncio.run(session.pop_item()) == ITEMS[3]
    (entry,) = memory.log(after=before)
    assert entry.kind == "block-forgotten"
    then = memory.as_of(version=before).blocks(key="openai-agents/a/")
    assert len(then.items) == len(ITEMS)


def test_messages_are_recalled_with_role_and_thread(memory: SyncMemory) -> None:
    asyncio.run(MnemicSession("support-17", memory).add_items(ITEMS))
    found = {block.content: block for block in memory.blocks(category="message").items}
    assert [*found] == ["Where does Ines live?", "In Oslo."]
    block = found["In Oslo."]
    assert (block.thread, (block.metadata or {})["role"]) == ("support-17", "assistant")


def test_the_sdk_takes_it_for_a_session(memory: SyncMemory) -> None:
    sdk: Any = pytest.importorskip("agents.memory", reason="the extra openai-agents is missing")
    assert isinstance(MnemicSession("a", memory), sdk.Session)
