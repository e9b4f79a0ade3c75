"""Pydantic AI: a ``ConversationStore`` on a memory. Needs the extra ``pydantic-ai``."""

from __future__ import annotations

from mnemic.adapters.integrations.pydantic_ai.store import MnemicConversationStore

__all__ = ["MnemicConversationStore"]
