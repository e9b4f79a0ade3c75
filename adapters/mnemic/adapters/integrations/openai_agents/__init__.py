"""A ``Session`` of the OpenAI Agents SDK on a memory; the SDK itself is not imported."""

from __future__ import annotations

from mnemic.adapters.integrations.openai_agents.session import MnemicSession

__all__ = ["MnemicSession"]
