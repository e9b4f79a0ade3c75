"""Pytest plugin: Google ADK's tests of its memory service in memory get ours.

Some look at the events that it keeps, in a dictionary by user and session.
"""

from __future__ import annotations

from collections import defaultdict
from types import SimpleNamespace
from typing import Any
from urllib.parse import unquote

from google.adk.memory import in_memory_memory_service

from mnemic.adapters.integrations.google_adk import MnemicMemoryService
from mnemic.adapters.integrations.records import open_memory


class InMemoryMemoryService(MnemicMemoryService):
    """In memory, and made by its constructor."""

    def __init__(self) -> None:
        super().__init__(open_memory(":memory:", space="memories"))

    @property
    def _session_events(self) -> dict[tuple[str, str], dict[str, list[Any]]]:
        found: Any = defaultdict(lambda: defaultdict(list))
        for block in self.memory.blocks(key="google-adk/").items:
            if block.status != "archived":
                _, app, user, _, session, name = map(unquote, block.metadata["key"].split("/"))
                found[app, user][session].append(SimpleNamespace(id=name))
        return found


in_memory_memory_service.InMemoryMemoryService = InMemoryMemoryService
