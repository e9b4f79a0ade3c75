"""The in-process interface: ``Memory`` for async hosts, ``SyncMemory`` for the others."""

from __future__ import annotations

from mnemic.adapters.inprocess.memory import Memory, View
from mnemic.adapters.inprocess.operations.guide import guide
from mnemic.adapters.inprocess.sync import SyncMemory
from mnemic.adapters.inprocess.view import SyncView
from mnemic.kernel.decisions.connecting import Assertion as ConnectSpec

__all__ = ["ConnectSpec", "Memory", "SyncMemory", "SyncView", "View", "guide"]
