"""The in-process interface: ``Memory`` for async hosts, ``SyncMemory`` for the others.

What is exported is imported when it is first asked for, so that a synchronous host loads no event
loop. The collector of garbage rests meanwhile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mnemic.adapters.system.collector import collector_at_rest

if TYPE_CHECKING:
    from mnemic.adapters.inprocess.memory import Memory, View
    from mnemic.adapters.inprocess.operations.guide import guide
    from mnemic.adapters.inprocess.sync import SyncMemory
    from mnemic.adapters.inprocess.view import SyncView
    from mnemic.kernel.decisions.connecting import Assertion as ConnectSpec

__all__ = ["ConnectSpec", "Memory", "SyncMemory", "SyncView", "View", "guide"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with collector_at_rest():
        return _imported(name)


def _imported(name: str) -> Any:
    match name:
        case "SyncMemory":
            from mnemic.adapters.inprocess.sync import SyncMemory

            return SyncMemory
        case "guide":
            from mnemic.adapters.inprocess.sync import SyncMemory

            return SyncMemory.guide
        case "SyncView":
            from mnemic.adapters.inprocess.view import SyncView

            return SyncView
        case "Memory" | "View":
            from mnemic.adapters.inprocess import memory

            return getattr(memory, name)
        case _:
            from mnemic.kernel.decisions.connecting import Assertion

            return Assertion
