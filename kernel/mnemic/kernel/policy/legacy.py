"""Values of policy fields that later releases added, for policies adopted before. Frozen."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from mnemic.kernel.policy.ranges import COUNT_MAX

LEGACY: Mapping[str, Any] = MappingProxyType(
    {
        "zone_places": (),
        "zone_discounted": (),
        "privilege_from": 0.0,
        "zones_apart": False,
        "zones_unattributed": (),
        "default_frame": "attention",
        "top_k_aggregate": 1,
        "passages_whole": 1_000_000,
        "relevance_nearby": 0.0,
        "relevance_distinct": 0.0,
        "recall_promotion_ms": COUNT_MAX,
        "inbox_zone_max": COUNT_MAX,
    }
)
"""Values for policies older than these fields: all zones are treated alike, a recall that names no
frame has the only default there was, and neither its promotions nor the inbox are limited."""
