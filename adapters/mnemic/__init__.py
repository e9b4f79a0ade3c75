"""Event-sourced memory for AI agents, replayable to any active hour.

``Memory`` (async) and ``SyncMemory`` are imported on first use, so that ``import mnemic`` alone
costs nothing. The four folders ``kernel``, ``projections``, ``adapters`` and ``specs`` of a
checkout each hold this same file: together they are the one package ``mnemic``.
"""

from __future__ import annotations

import pkgutil
from typing import TYPE_CHECKING, Any

__path__ = pkgutil.extend_path(__path__, __name__)

if TYPE_CHECKING:
    from mnemic.adapters.inprocess import Memory, SyncMemory

    __version__: str

__all__ = ["Memory", "SyncMemory", "__version__"]


def __getattr__(name: str) -> Any:
    if name in {"Memory", "SyncMemory"}:
        from mnemic.adapters import inprocess

        return getattr(inprocess, name)
    if name == "__version__":
        from importlib.metadata import version

        return version("mnemic")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
