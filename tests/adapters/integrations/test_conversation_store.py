"""Pydantic AI's store of conversations on a memory."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pydantic_ai
import pytest
from pydantic_ai import conversation_store, messages, usage
from pydantic_ai.models.test import TestModel

from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.integrations.pydantic_ai import MnemicConversationStore
from mnemic.kernel.errors import FieldRefused
from mnemic.specs.contracts.integrations.conversation_store import ConversationStoreContract


class Contract(ConversationStoreContract):
    @pytest.fixture
    def kit(self) -> Any:
        known = (vars(module) for module in (usage, messages, conversation_store, pydantic_ai))
        return SimpleNamespace(**{name: each for names in known for name, each in names.items()})


class TestTheirs(Contract):
    """The contract says nothing that the framework's own store does not do."""

    @pytest.fixture
    def store(self) -> Any:
        return conversation_store.InMemoryConversationStore()


class TestContract(Contract):
    @pytest.fixture
    def store(self, memory: SyncMemory) -> Any:
        return MnemicConversationStore(memory)


async def converse(store: MnemicConversationStore, question: str, answer: str) -> None:
    """Ask an agent in the conversation ``support-17``."""
    name = "support-17"
    known = await store.load(name) or pydantic_ai.Conversation(conversation_id=name)
    agent = pydantic_ai.Agent(TestModel(custom_output_text=answer))
    await store.save(await agent.run(question, conversation=known))


def test_runs_of_an_agent_are_messages_for_every_interface(memory: SyncMemory) -> None:
    store = MnemicConversationStore(memory, scope={"user": "ines"})
    asyncio.run(converse(store, "Where does Ines live?", "In Oslo."))
    asyncio.run(converse(store, "Since when?", "Since May."))
    said = memory.blocks(thread="support-17").items
    assert [block.content for block in said] == [
        "Where does Ines live?",
        "In Oslo.",
        "Since when?",
        "Since May.",
    ]
    roles = [(block.metadata or {})["role"] for block in said]
    assert roles == ["user", "assistant"] * 2
    assert "In Oslo." in memory.recall("Where does Ines live?", scope={"user": "ines"}).text


def test_a_save_is_one_transaction_and_stays_in_the_past(tmp_path: Path) -> None:
    with MnemicConversationStore.from_path(tmp_path / "runs.db") as store:
        before = store.memory.status().version
        asyncio.run(converse(store, "Where does Ines live?", "In Oslo. " * 1000))
        entries = store.memory.log(after=before)
        assert len({entry.recorded_at for entry in entries}) == 1
        version = store.memory.status().version
        asyncio.run(store.delete("support-17"))
        then = store.memory.as_of(version=version).blocks(key="pydantic-ai/")
        assert [block.status for block in then.items] == ["inbox"] * 3
        assert store.memory.verify().sound
    with MnemicConversationStore.from_path(tmp_path / "runs.db") as store:
        assert asyncio.run(store.list_conversations()) == []


def test_a_message_that_is_too_large_leaves_nothing(memory: SyncMemory) -> None:
    store = MnemicConversationStore(memory)
    image = messages.BinaryContent(data=bytes(5000), media_type="image/png")
    prompt = messages.ModelRequest(parts=[messages.UserPromptPart(["Who is that?", image])])
    conversation = pydantic_ai.Conversation(conversation_id="a", messages=[prompt])
    with pytest.raises(FieldRefused, match="the limit is 4096"):
        asyncio.run(store.save(conversation))
    assert memory.blocks().items == ()
