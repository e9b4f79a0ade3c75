"""Pytest plugin: LangGraph's tests of stores get ours for ``InMemoryStore`` and ``SqliteStore``."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import langgraph.store.memory

from mnemic.adapters.integrations.langgraph import AsyncMnemicStore, MnemicStore
from mnemic.adapters.integrations.langgraph.embeddings import LangChainEmbedder
from mnemic.adapters.integrations.records import open_memory

INSIDES = (
    "NS_MATCH_FUNCTION",
    "BaseSqliteStore",
    "_escape_glob_literal",
    "_namespace_match_pattern",
)
"""Names that tests of the insides of the store on SQLite import."""


class InMemoryStore(MnemicStore):
    """In memory, and made by its constructor."""

    def __init__(self, *, index: Any = None) -> None:
        embedder = LangChainEmbedder(index["embed"], index["dims"]) if index else None
        memory = open_memory(":memory:", space="langgraph", embedder=embedder)
        super().__init__(memory, index=index)


class SqliteStore(MnemicStore):
    """In a file, with the names that the store on SQLite has for what selects the fields."""

    @classmethod
    @contextmanager
    def from_conn_string(
        cls, path: str, *, index: Any = None, ttl: Any = None
    ) -> Generator[SqliteStore]:
        with cls.from_path(_place(path), index=_selecting(index), ttl=ttl) as store:
            yield store

    def setup(self) -> None:
        """Make nothing: the space is there."""


class AsyncSqliteStore(AsyncMnemicStore):
    """The same on an event loop."""

    @classmethod
    @asynccontextmanager
    async def from_conn_string(
        cls, path: str, *, index: Any = None, ttl: Any = None
    ) -> AsyncGenerator[AsyncSqliteStore]:
        async with cls.from_path(_place(path), index=_selecting(index), ttl=ttl) as store:
            yield store

    async def setup(self) -> None:
        """Make nothing: the space is there."""


def _selecting(index: Any) -> Any:
    chosen = (index or {}).get("text_fields")
    return {**index, "fields": chosen} if chosen else index


def _place(path: str) -> str:
    """Return the path of a file; an empty one, which tests make beforehand, is removed."""
    if path != ":memory:" and Path(path).exists() and Path(path).stat().st_size == 0:
        Path(path).unlink()
    return path


def _module(name: str, **names: Any) -> None:
    module = ModuleType(name)
    vars(module).update(names)
    sys.modules[name] = module


langgraph.store.memory.InMemoryStore = InMemoryStore  # type: ignore[misc,assignment]
_module("langgraph.store.sqlite", AsyncSqliteStore=AsyncSqliteStore, SqliteStore=SqliteStore)
_module("langgraph.store.sqlite.aio", AsyncSqliteStore=AsyncSqliteStore)
_module("langgraph.store.sqlite.base", SqliteIndexConfig=dict, **dict.fromkeys(INSIDES))
_module("tests", __path__=[os.environ["MNEMIC_SUITE"]])
