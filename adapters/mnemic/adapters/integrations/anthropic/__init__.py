"""Anthropic's memory tool on a memory, sync and async. Needs the extra ``anthropic``."""

from __future__ import annotations

from mnemic.adapters.integrations.anthropic.memory_tool import (
    AsyncMnemicMemoryTool,
    MnemicMemoryTool,
)

__all__ = ["AsyncMnemicMemoryTool", "MnemicMemoryTool"]
