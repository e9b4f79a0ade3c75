"""The in-process door: ``Memory`` for async hosts, ``SyncMemory`` for the others."""

from __future__ import annotations

from mnemic.adapters.inprocess.memory import Memory, View
from mnemic.adapters.inprocess.snapshot import SyncView
from mnemic.adapters.inprocess.sync import SyncMemory

__all__ = ["Memory", "SyncMemory", "SyncView", "View"]
