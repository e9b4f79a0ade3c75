"""Spaces of one store, open for many callers at once: what every server stands on."""

from __future__ import annotations

from mnemic.adapters.hosting.spaces import OPEN_MAX, Hold, Spaces, Vacancy

__all__ = ["OPEN_MAX", "Hold", "Spaces", "Vacancy"]
