"""Filters: the grammar of ``where``, and which blocks of a view a recall may consider."""

from __future__ import annotations

from mnemic.projections.retrieval.filters.eligibility import (
    Eligibility,
    eligible,
    obstacle,
    unexpired,
)
from mnemic.projections.retrieval.filters.grammar import KEYS, Where

__all__ = ["KEYS", "Eligibility", "Where", "eligible", "obstacle", "unexpired"]
