"""``MnemicMemoryService``: Google ADK's ``BaseMemoryService`` on a memory."""

from __future__ import annotations

from typing import Any

from google.adk.memory.base_memory_service import (  # pyright: ignore[reportMissingImports]
    BaseMemoryService,
    SearchMemoryResponse,
)
from google.adk.memory.memory_entry import MemoryEntry  # pyright: ignore[reportMissingImports]
from google.genai.types import Content, Part  # pyright: ignore[reportMissingImports]

from mnemic.adapters.integrations.google_adk.entries import Found
from mnemic.adapters.integrations.google_adk.service import EntryService


class MnemicMemoryService(EntryService, BaseMemoryService):  # type: ignore[misc]
    """A memory service to pass to ``Runner(..., memory_service=...)``."""

    def response(self, memories: list[Found]) -> Any:
        """Return the answer of a search as ADK has it."""
        return SearchMemoryResponse(
            memories=[
                MemoryEntry(
                    id=each.id,
                    content=Content(role=each.role, parts=[Part(text=text) for text in each.texts]),
                    author=each.author,
                    timestamp=each.timestamp,
                    custom_metadata=each.metadata,
                )
                for each in memories
            ]
        )
