"""Pytest plugin: LangGraph's tests of stores get ours for ``InMemoryStore`` and ``SqliteStore``."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from types import ModuleType
from typing import Any

import langgraph.store.memory

from mnemic.adapters.integrations.langgraph import AsyncMnemicStore, MnemicStore
from mnemic.adapters.integrations.langgraph.embeddings import LangChainEmbedder
from mnemic.adapters.integrations.records import open_memory


class InMemoryStore(MnemicStore):
    """In memory, and made by its constructor."""

    def __init__(self, *, index: Any = None) -> None:
        embedder = LangChainEmbedder(index["embed"], index["dims"]) if index else None
        memory = open_memory(":memory:", space="langgraph", embedder=embedder)
        super().__init__(memory, index=index)


class AsyncSqliteStore(AsyncMnemicStore):
    """In a file, with the names that the store on SQLite has for what selects the fields."""

    @classmethod
    @asynccontextmanager
    async def from_conn_string(
        cls, path: str, *, index: Any = None, ttl: Any = None
    ) -> AsyncGenerator[AsyncSqliteStore]:
        if index is not None and index.get("text_fields"):
            index = {**index, "fields": index["text_fields"]}
        async with cls.from_path(path, index=index, ttl=ttl) as store:
            yield store

    async def setup(self) -> None:
        """Make nothing: the space is there."""


def _module(name: str, **names: Any) -> None:
    module = ModuleType(name)
    vars(module).update(names)
    sys.modules[name] = module


langgraph.store.memory.InMemoryStore = InMemoryStore  # type: ignore[misc,assignment]
_module("langgraph.store.sqlite", AsyncSqliteStore=AsyncSqliteStore)
_module("langgraph.store.sqlite.base", SqliteIndexConfig=dict)
_module("tests", __path__=[os.environ["MNEMIC_SUITE"]])
