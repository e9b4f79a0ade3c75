"""The same command from another writer between two reads of the log: only one of them writes it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.system.clocks import ManualClock
from mnemic.kernel.ports import Head, Log
from tests.adapters.inprocess.conftest import Open

ID = "the same"
OPERATIONS: dict[str, Callable[[SyncMemory], Any]] = {
    "recall": lambda memory: memory.recall("bees", command_id=ID),
    "consolidate": lambda memory: memory.consolidate(command_id=ID),
    "curate": lambda memory: memory.curate(command_id=ID),
}
"""Operations that look up their command before they hold the write lock."""


class OvertakenLog:
    """A log in which another writer appends just after its head was read, once."""

    def __init__(self, behind: Log) -> None:
        self._behind = behind
        self.meanwhile: Callable[[], object] | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._behind, name)

    def head(self) -> Head:
        head = self._behind.head()
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile is not None:
            meanwhile()
        return head


class OneLog:
    """A store of one log."""

    def __init__(self, log: Any) -> None:
        self._log = log

    def log(self, space: str, *, create: bool = True) -> Any:
        del space, create
        return self._log

    def spaces(self) -> tuple[str, ...]:
        return ("default",)

    def close(self) -> None:
        """Nothing is held."""


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_command_written_concurrently_by_another_gets_the_same_answer(
    operation: str, opened: Open, clock: ManualClock
) -> None:
    store = MemoryStore()
    other = opened(store)
    for content in ("bees sleep on the porch", "bees sleep in the porch"):
        other.learn(content)
    other.consolidate()
    other.learn("wasps do not sleep")
    clock.advance(days=400)
    log = OvertakenLog(store.log("default"))
    memory = opened(OneLog(log))
    give = OPERATIONS[operation]
    log.meanwhile = lambda: give(other)
    answer = give(memory)
    assert log.meanwhile is None
    assert answer == give(other)
    assert memory.status().version == other.status().version
