"""Recall: filters, ranking, signals, expansion, budget and packing.

``answer`` takes a checked ``Request`` through all of it. What it returns is what ``decide_recall``
records, and ``replayed`` gives a recorded answer again.
"""

from __future__ import annotations

from mnemic.projections.retrieval.packing import Packed
from mnemic.projections.retrieval.recorded_recalls import replayed
from mnemic.projections.retrieval.request import RecallMethod, Request, answer, explored

__all__ = ["Packed", "RecallMethod", "Request", "answer", "explored", "replayed"]
