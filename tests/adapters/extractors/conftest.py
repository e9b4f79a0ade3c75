"""A memory whose extractor asks the model server for tests."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack
from typing import Any, TypeAlias

import pytest

from mnemic.adapters.extractors.chat import ChatExtractor
from mnemic.adapters.inprocess.sync import SyncMemory
from mnemic.adapters.system.clocks import ManualClock
from mnemic.specs.strategies.vectors import PlaneEmbedder
from tests.adapters.endpoints.conftest import Reply, Server, pauses, said, server

__all__ = ["pauses", "server"]

Opening: TypeAlias = Callable[..., SyncMemory]


@pytest.fixture
def opening(server: Server, pauses: list[float]) -> Generator[Opening]:
    """Open memories with a chat extractor of the server; all are closed."""
    with ExitStack() as stack:

        def make(url: str | None = None, **options: Any) -> SyncMemory:
            chat = ChatExtractor(
                url or server.url, "small", api_key="", retries=1, sleep=pauses.append
            )
            stack.enter_context(chat)
            given: dict[str, Any] = {"embedder": PlaneEmbedder(), "clock": ManualClock()}
            memory = SyncMemory.open(":memory:", extractor=chat, **(given | options))
            return stack.enter_context(memory)

        yield make


def message(content: str, **fields: Any) -> dict[str, Any]:
    """Return a message of Ines."""
    at = "2026-03-02T09:00:00Z"
    return {"role": "user", "name": "Ines", "content": content, "created_at": at, **fields}


def fact(text: str, quote: str, **fields: Any) -> dict[str, Any]:
    """Return a fact as a model writes it."""
    return {"text": text, "quotes": [{"message": 0, "text": quote}], **fields}


def answer(*facts: object) -> Reply:
    """Return the reply of a model that found some facts."""
    return Reply(200, said({"facts": list(facts)}))


def contents(memory: SyncMemory, category: str, status: str | None = None) -> list[str | None]:
    """Return the texts of a category, in the order of learning."""
    page = memory.blocks(category=category, status=status, limit=1000)
    return [block.content for block in page.items]


def material(request: Any) -> dict[str, Any]:
    """Return what a request showed to the model."""
    found: dict[str, Any] = json.loads(request.document["messages"][1]["content"])
    return found


def kinds(memory: SyncMemory) -> Sequence[str]:
    """Return the kinds of all events."""
    return [entry.kind for entry in memory.log(limit=1000)]
