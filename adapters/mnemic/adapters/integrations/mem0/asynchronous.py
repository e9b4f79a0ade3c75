"""``AsyncMemory``: the calls of ``Memory``, each on a thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from functools import wraps
from types import TracebackType
from typing import Any, Self, TypeVar

from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.integrations.mem0.memory import Memory

Returned = TypeVar("Returned")


def _on_a_thread(
    method: Callable[..., Returned],
) -> Callable[..., Coroutine[Any, Any, Returned]]:
    @wraps(method)
    async def call(self: AsyncMemory, *args: Any, **kwargs: Any) -> Returned:
        return await asyncio.to_thread(method, self.synchronous, *args, **kwargs)

    return call


class AsyncMemory:
    """The memories of users, agents and runs, for an event loop; see ``Memory``."""

    def __init__(
        self, config: Any = None, *, memory: SyncMemory | None = None, extract: str | None = None
    ) -> None:
        self.synchronous = Memory(config, memory=memory, extract=extract)
        """The same memories, without an event loop."""

    @classmethod
    def from_config(cls, config_dict: Mapping[str, Any]) -> Self:
        """Return the memories that a configuration of mem0 names."""
        return cls(config_dict)

    add = _on_a_thread(Memory.add)
    get = _on_a_thread(Memory.get)
    get_all = _on_a_thread(Memory.get_all)
    search = _on_a_thread(Memory.search)
    update = _on_a_thread(Memory.update)
    delete = _on_a_thread(Memory.delete)
    delete_all = _on_a_thread(Memory.delete_all)
    history = _on_a_thread(Memory.history)
    reset = _on_a_thread(Memory.reset)

    def close(self) -> None:
        """Close the memory, unless it was given."""
        self.synchronous.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
