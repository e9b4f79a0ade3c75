"""Whoever reads a table holds the guard: reading moves rows that another thread may be folding."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeAlias

import pytest

from mnemic.adapters.inprocess import SyncMemory
from mnemic.kernel.policy import DEFAULT
from mnemic.projections import columns
from tests.adapters.inprocess.conftest import Open

Verb: TypeAlias = Callable[[SyncMemory], object]


@contextmanager
def unguarded(memory: SyncMemory) -> Generator[list[str]]:
    """Gather who moves rows of tables while any other thread could take the guard."""
    guard, found = memory._space.guard, list[str]()  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]

    def is_free() -> bool:
        taken = guard.acquire(blocking=False)
        if taken:
            guard.release()
        return taken

    with ThreadPoolExecutor(1) as other:

        def look(frame: FrameType, event: str, _: Any) -> None:
            code, caller = frame.f_code, frame.f_back
            settles = code.co_name == "_settle" and code.co_filename == columns.__file__
            if event == "call" and settles and other.submit(is_free).result():
                found.append(caller.f_code.co_name if caller else "")

        sys.setprofile(look)
        try:
            yield found
        finally:
            sys.setprofile(None)


def session(memory: SyncMemory) -> None:
    with memory.session():
        memory.recall("bees", explore=1.0)


def backtest(memory: SyncMemory) -> None:
    session(memory)
    memory.backtest([DEFAULT])


def replay_all(memory: SyncMemory) -> None:
    session(memory)
    memory.replay_all()


def old_view(memory: SyncMemory) -> None:
    view = memory.as_of(version=memory.status().version)
    memory.erase(memory.learn("cake to be erased").block_id)
    view.recall("bees")


VERBS: dict[str, Verb] = {
    "session": session,
    "curate": lambda memory: (memory.curate(), memory.curate()),
    "consolidate": lambda memory: memory.consolidate(command_id="asked before"),
    "outcome": lambda memory: memory.outcome(composition_id=composed(memory), signal=0.5),
    "deep_reference": lambda memory: memory.deep_reference("bees", command_id="asked before too"),
    "backtest": backtest,
    "replay_all": replay_all,
    "a view of before an erasure": old_view,
}


def composed(memory: SyncMemory) -> str:
    return memory.compose([block.id for block in memory.blocks().items][:2]).composition_id


@pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS)
def test_no_table_is_read_by_anybody_who_does_not_hold_the_guard(opened: Open, verb: Verb) -> None:
    memory = opened()
    for number in range(6):
        memory.learn(f"bees sleep on porch {number}")
    memory.consolidate(command_id="asked before")
    memory.deep_reference("bees", command_id="asked before too")
    with unguarded(memory) as found:
        verb(memory)
    assert found == []
