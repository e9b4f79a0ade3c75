"""Blocks as results, made by hand."""

from __future__ import annotations

from typing import Any

from mnemic.kernel.model.identity import BlockId
from mnemic.kernel.results import Block


def block(**given: Any) -> Block:
    """Return a block with these fields."""
    fields: dict[str, Any] = {
        "id": BlockId("0123456789abcdef"),
        "content": "the gate is shut",
        "status": "active",
        "category": "knowledge",
        "source": "api",
        "zone": "trusted",
        "actor": "agent",
        "confidence": 0.8,
        "learned_version": 2,
        "said_version": 2,
        "last_reinforced_hour": 0.0,
        "decay_rate": 0.01,
        "recency": 1.0,
        "usefulness": 0.5,
        "evidence": 0.0,
    }
    return Block(**{**fields, **given})
