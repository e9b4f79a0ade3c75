"""Spaces of one store, open for many callers at once: what a server stands on, whatever its door."""

from __future__ import annotations

from mnemic.adapters.hosting.spaces import OPEN_MAX, Hold, Spaces

__all__ = ["OPEN_MAX", "Hold", "Spaces"]
