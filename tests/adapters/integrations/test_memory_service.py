"""Google ADK's memory service on a memory; ``test_google_adk`` runs it with ADK."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.integrations.google_adk.entries import Found
from mnemic.adapters.integrations.google_adk.service import EntryService
from mnemic.kernel.errors import FieldRefused
from mnemic.specs.contracts.integrations.memory_service import MemoryServiceContract


class PlainService(EntryService):
    """The service with answers of its own classes."""

    def response(self, memories: list[Found]) -> Any:
        return SimpleNamespace(memories=[self.shown(each) for each in memories])

    def shown(self, found: Found) -> Any:
        parts = [SimpleNamespace(text=text) for text in found.texts]
        return SimpleNamespace(
            id=found.id,
            content=SimpleNamespace(parts=parts, role=found.role),
            author=found.author,
            timestamp=found.timestamp,
            custom_metadata=found.metadata,
        )


class TestContract(MemoryServiceContract):
    @pytest.fixture
    def service(self, memory: SyncMemory) -> Any:
        return PlainService(memory)


def events(*texts: str) -> list[Any]:
    return [
        SimpleNamespace(
            id=str(number),
            author=("user", "guide")[number % 2],
            timestamp=12345.0,
            content=SimpleNamespace(
                role=("user", "model")[number % 2],
                parts=[SimpleNamespace(text=text, thought=None)],
            ),
        )
        for number, text in enumerate(texts)
    ]


def test_events_are_messages_of_the_user_for_every_interface(memory: SyncMemory) -> None:
    given: dict[str, Any] = {"app_name": "app", "user_id": "ines", "session_id": "support-17"}
    said = events("I live in Oslo.", "Oslo is cold today.")
    asyncio.run(PlainService(memory).add_events_to_memory(events=said, **given))
    home, weather = memory.blocks(thread="support-17").items
    assert [home.category, weather.category] == ["message", "message"]
    assert [(each.metadata or {})["role"] for each in (home, weather)] == ["user", "assistant"]
    assert home.created_at == "1970-01-01T03:25:45+00:00"
    found = memory.recall("Where does Ines live?", scope={"user": "ines"})
    assert "I live in Oslo." in [block.content for block in found.blocks]
    assert memory.recall("Where does Ines live?", scope={"user": "tom"}).blocks == ()


def test_a_session_is_added_whole_or_not_at_all(memory: SyncMemory) -> None:
    said = events("I live in Oslo.", "x" * 300_000)
    session = SimpleNamespace(id="s", app_name="app", user_id="ines", events=said)
    with pytest.raises(Exception, match="300000 characters"):
        asyncio.run(PlainService(memory).add_session_to_memory(session))
    assert memory.blocks().items == ()


@pytest.mark.parametrize("user", ["", " ", "a\x00b", "x" * 10_000])
def test_a_user_that_is_no_name_is_refused(memory: SyncMemory, user: str) -> None:
    service = PlainService(memory)
    adding = service.add_events_to_memory(app_name="app", user_id=user, events=events("Hello."))
    with pytest.raises(FieldRefused, match="scope user"):
        asyncio.run(adding)


def test_metadata_that_is_not_json_is_refused(memory: SyncMemory) -> None:
    service = PlainService(memory)
    with pytest.raises(TypeError, match="JSON"):
        asyncio.run(
            service.add_events_to_memory(
                app_name="app",
                user_id="ines",
                events=events("Hello."),
                custom_metadata={"when": object()},
            )
        )
    assert memory.blocks().items == ()
