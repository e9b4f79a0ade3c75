"""Google ADK: a ``BaseMemoryService`` on a memory. Needs the extra ``google-adk``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mnemic.adapters.integrations.google_adk.adk import MnemicMemoryService

__all__ = ["MnemicMemoryService"]


def __getattr__(name: str) -> Any:
    """Import ADK with the class that needs it: the rest of this package works without."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from mnemic.adapters.integrations.google_adk import adk

    return getattr(adk, name)
