"""``Memory`` and ``AsyncMemory`` as mem0 2.2 has them, on a memory; mem0 itself is not imported."""

from __future__ import annotations

from mnemic.adapters.integrations.mem0.arguments import ValidationError
from mnemic.adapters.integrations.mem0.asynchronous import AsyncMemory
from mnemic.adapters.integrations.mem0.memory import Memory

__all__ = ["AsyncMemory", "Memory", "ValidationError"]
