"""Recall: filters, ranking, signals, expansion, budget and packing."""

from __future__ import annotations
