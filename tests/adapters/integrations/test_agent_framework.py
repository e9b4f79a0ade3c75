"""Providers of context and history for agents of the Microsoft Agent Framework."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from mnemic.adapters.inprocess import SyncMemory
from mnemic.specs.contracts.integrations.agent_framework import (
    ContextProviderContract,
    HistoryProviderContract,
    MakeAgent,
)

framework: Any = pytest.importorskip(
    "agent_framework", reason="the extra agent-framework is not installed"
)

from mnemic.adapters.integrations.agent_framework import (  # noqa: E402 - after the check
    MnemicContextProvider,
    MnemicHistoryProvider,
)


class TestHistory(HistoryProviderContract):
    @pytest.fixture
    def framework(self) -> Any:
        return framework

    @pytest.fixture
    def make(self, memory: SyncMemory) -> Callable[..., Any]:
        return partial(MnemicHistoryProvider, memory)

    def test_messages_are_recalled_with_role_and_thread(
        self, make: Callable[..., Any], make_agent: MakeAgent, memory: SyncMemory
    ) -> None:
        agent = make_agent("Noted.", providers=[make(scope={"user": "ines"})])
        session = agent.create_session(session_id="monday")
        asyncio.run(agent.run("I live in Oslo.", session=session))
        found = [
            (block.content, block.thread, (block.metadata or {})["role"])
            for block in memory.blocks(category="message").items
        ]
        assert found == [("I live in Oslo.", "monday", "user"), ("Noted.", "monday", "assistant")]
        assert memory.recall("Oslo", scope={"user": "bo"}).blocks == ()


class TestContext(ContextProviderContract):
    @pytest.fixture
    def framework(self) -> Any:
        return framework

    @pytest.fixture
    def make(self, memory: SyncMemory) -> Callable[..., Any]:
        return partial(MnemicContextProvider, memory)

    def test_the_state_names_the_recall(
        self, make: Callable[..., Any], make_agent: MakeAgent, memory: SyncMemory
    ) -> None:
        memory.learn("Ines lives in Oslo.")
        agent = make_agent("In Oslo.", providers=[make(top_k=1)])
        session = agent.create_session(session_id="monday")
        asyncio.run(agent.run("Where does Ines live?", session=session))
        decision = session.state["mnemic"]["decision_id"]
        assert memory.explain(decision).query == "Where does Ines live?"
        assert memory.outcome(signal=1.0, decision_id=decision).updated

    def test_messages_are_learned_with_facts(
        self, make: Callable[..., Any], make_agent: MakeAgent, memory: SyncMemory
    ) -> None:
        agent = make_agent("Noted.", providers=[make(extract="rules", scope={"user": "ines"})])
        session = agent.create_session(session_id="monday")
        asyncio.run(agent.run("I live in Oslo.", session=session))
        found = {(block.content, block.category) for block in memory.blocks().items}
        assert ("I live in Oslo.", "fact") in found
        assert ("Noted.", "message") in found

    def test_history_and_context_on_one_memory(
        self,
        make: Callable[..., Any],
        make_agent: MakeAgent,
        memory: SyncMemory,
        seen: list[Any],
    ) -> None:
        providers = [MnemicHistoryProvider(memory), make(learns=False)]
        agent = make_agent("Noted.", "In Oslo.", providers=providers)

        async def work() -> None:
            for name, said in (("monday", "I live in Oslo."), ("friday", "Where do I live?")):
                await agent.run(said, session=agent.create_session(session_id=name))

        asyncio.run(work())
        assert "I live in Oslo." in seen[1][0][1]
        assert [block.content for block in memory.blocks().items] == [
            *("I live in Oslo.", "Noted.", "Where do I live?", "In Oslo."),
        ]
