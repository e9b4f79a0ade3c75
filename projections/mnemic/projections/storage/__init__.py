"""Append-only data structures with history, shared by all projections."""

from __future__ import annotations
