"""Context and history of agents of the Microsoft Agent Framework, on a memory."""

from __future__ import annotations

from mnemic.adapters.integrations.agent_framework.context import MnemicContextProvider
from mnemic.adapters.integrations.agent_framework.history import MnemicHistoryProvider

__all__ = ["MnemicContextProvider", "MnemicHistoryProvider"]
