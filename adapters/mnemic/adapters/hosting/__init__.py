"""The open spaces of one store, shared by many callers; every server is based on it."""

from __future__ import annotations

from mnemic.adapters.hosting.slots import Hold, Vacancy
from mnemic.adapters.hosting.spaces import OPEN_MAX, Spaces

__all__ = ["OPEN_MAX", "Hold", "Spaces", "Vacancy"]
