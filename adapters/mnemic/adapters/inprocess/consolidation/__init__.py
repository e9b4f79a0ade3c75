"""Consolidation and re-embedding, chunk by chunk."""

from __future__ import annotations
