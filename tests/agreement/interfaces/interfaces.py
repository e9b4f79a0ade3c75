"""Table of all interfaces, each opened with the same arguments and called in the same way."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator
from contextlib import AbstractAsyncContextManager, AbstractContextManager, contextmanager
from functools import partial
from typing import Any, TypeAlias

from anyio.from_thread import BlockingPortal

from mnemic.adapters import client
from mnemic.adapters.inprocess import Memory, SyncMemory, View

Interface: TypeAlias = Any
"""Something with the operations of ``SyncMemory``."""
ASYNC = (Memory, View, client.Memory, client.View)


class Awaited:
    """An async interface for synchronous callers: each operation runs on an event loop."""

    def __init__(
        self, behind: Memory | View | client.Memory | client.View, portal: BlockingPortal
    ) -> None:
        self._behind = behind
        self._portal = portal

    def session(self) -> AbstractContextManager[Any]:
        """Hold a session open, as the async interface does, for a plain ``with``."""
        assert isinstance(self._behind, Memory | client.Memory)
        return self._portal.wrap_async_context_manager(self._behind.session())

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._behind, name)
        return partial(self._finished, found) if inspect.iscoroutinefunction(found) else found

    def _finished(self, operation: Callable[..., Any], *args: Any, **named: Any) -> Any:
        answer = self._portal.call(partial(operation, *args, **named))
        return Awaited(answer, self._portal) if isinstance(answer, ASYNC) else answer


@contextmanager
def awaited(memory: Memory | client.Memory, portal: BlockingPortal) -> Generator[Awaited]:
    """Enter an async memory, and leave it in the end."""
    entering: AbstractAsyncContextManager[Any] = memory
    with portal.wrap_async_context_manager(entering) as entered:
        yield Awaited(entered, portal)


INTERFACES: dict[
    str, Callable[[dict[str, Any], BlockingPortal], AbstractContextManager[Interface]]
] = {
    "sync": lambda given, _: SyncMemory.open(**given),
    "async": lambda given, portal: awaited(Memory.open(**given), portal),
}
"""How each interface is opened, given the arguments of ``SyncMemory.open``. With one more line
every history of `test_interfaces_agree` runs through a new interface too."""
