"""LangGraph: a ``BaseStore`` and a checkpointer on a memory. Needs the extra ``langgraph``."""

from __future__ import annotations

from mnemic.adapters.integrations.langgraph.saver import MnemicSaver
from mnemic.adapters.integrations.langgraph.store import AsyncMnemicStore, MnemicStore

__all__ = ["AsyncMnemicStore", "MnemicSaver", "MnemicStore"]
