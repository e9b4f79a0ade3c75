"""Google ADK's memory service on a memory, with the classes of ADK where it is installed."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from mnemic.adapters.inprocess import SyncMemory
from mnemic.specs.contracts.integrations.memory_service import MemoryServiceContract

adk: Any = pytest.importorskip("google.adk.memory", reason="the extra google-adk is missing")
events: Any = pytest.importorskip("google.adk.events.event")
entries: Any = pytest.importorskip("google.adk.memory.memory_entry")
types: Any = pytest.importorskip("google.genai.types")


@pytest.fixture
def service(memory: SyncMemory) -> Any:
    from mnemic.adapters.integrations.google_adk import MnemicMemoryService  # noqa: PLC0415

    return MnemicMemoryService(memory)


class TestContract(MemoryServiceContract):
    @pytest.fixture
    def service(self, service: Any) -> Any:
        return service

    def part(self, text: str | None = None, *, thought: bool = False) -> Any:
        call = types.FunctionCall(name="look") if text is None else None
        return types.Part(text=text, thought=thought or None, function_call=call)

    def event(self, name: str, parts: Sequence[Any] | None, **fields: Any) -> Any:
        content = None if parts is None else types.Content(parts=list(parts), role="user")
        event = events.Event(content=content, **{"author": "user", "timestamp": 12345.0, **fields})
        event.id = name  # the constructor makes one up
        return event

    def memory(self, text: str | None, **fields: Any) -> Any:
        return entries.MemoryEntry(content=types.Content(parts=[self.part(text)]), **fields)


def test_adk_takes_it_for_a_memory_service(service: Any) -> None:
    assert isinstance(service, adk.BaseMemoryService)
    answer = asyncio.run(service.search_memory(app_name="app", user_id="ines", query="bees"))
    assert isinstance(answer, adk.base_memory_service.SearchMemoryResponse)
