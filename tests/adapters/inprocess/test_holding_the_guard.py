"""Whoever looks at the state holds the guard: another seat may be folding, or folding all anew."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from types import FrameType
from typing import Any, TypeAlias

import pytest

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory, folding
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.kernel.policy import DEFAULT, Policy
from mnemic.projections import columns
from tests.adapters.inprocess.conftest import Open
from tests.adapters.inprocess.queues import Taken

Verb: TypeAlias = Callable[[SyncMemory], object]

LOOKS = {("_settle", columns.__file__), ("state", folding.__file__)}


@contextmanager
def unguarded(memory: SyncMemory) -> Generator[list[str]]:
    """Gather who looks at the state, or moves rows of its tables, while the guard is free."""
    guard, found = memory._space.guard, list[str]()  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]

    def is_free() -> bool:
        taken = guard.acquire(blocking=False)
        if taken:
            guard.release()
        return taken

    with ThreadPoolExecutor(1) as other:

        def look(frame: FrameType, event: str, _: Any) -> None:
            code, caller = frame.f_code, frame.f_back
            looks = (code.co_name, code.co_filename) in LOOKS
            if event == "call" and looks and other.submit(is_free).result():
                found.append(caller.f_code.co_name if caller else "")

        sys.setprofile(look)
        try:
            yield found
        finally:
            sys.setprofile(None)


class Queues(MemoryStore):
    """A store of such logs, which notes by what way anybody came to wait with the guard in hand."""

    def __init__(self) -> None:
        super().__init__()
        self.guard: RLock | None = None
        self.waits = 0
        self.found: list[str] = []

    def log(self, space: str, *, create: bool = True) -> Any:
        return Taken(super().log(space, create=create), self._note)

    def _note(self) -> None:
        self.waits += 1
        if self.guard is not None and not is_free(self.guard):
            frames = traceback.extract_stack()
            self.found.append(" < ".join(frame.name for frame in reversed(frames[-8:-2])))


def is_free(guard: RLock) -> bool:
    """Say whether another thread could have the guard."""

    def take() -> bool:
        taken = guard.acquire(blocking=False)
        if taken:
            guard.release()
        return taken

    with ThreadPoolExecutor(1) as other:
        return other.submit(take).result()


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


def exchange(memory: SyncMemory, folder: Path) -> None:
    session(memory)
    decision = f"d{memory.status().version - 1}"
    memory.verify_receipt(memory.receipt(decision), replay=True)
    memory.export(folder / "out.jsonl")
    memory.fork("other")
    memory.fork("older", decision=decision)


def decided(memory: SyncMemory, decision: str) -> None:
    memory.outcome(decision_id=decision)
    memory.explain(decision)
    memory.why_not(decision, memory.blocks().items[0].id)
    memory.replay(decision)
    memory.what_if(decision, query="porch")
    memory.as_of(decision=decision).recall("bees")


def change(memory: SyncMemory) -> None:
    one, two, three = (block.id for block in memory.blocks().items[:3])
    memory.connect(one, two, "supports")
    memory.disconnect(one, two)
    memory.rezone(two, "vetted")
    memory.revise(one, "bees sleep elsewhere")
    memory.revert(3, 4, dry_run=True)
    memory.forget(two)
    memory.erase(three)
    memory.learn("bees go on")
    memory.erase(three)
    memory.adopt_policy(Policy(name="other"))
    memory.erase_space()


def queries(memory: SyncMemory) -> None:
    block = memory.blocks().items[0].id
    memory.composed_graph("never_composed")
    memory.frontier()
    memory.history(of=block)
    memory.log()
    memory.timeline()
    memory.diff(2)
    memory.edges(block)
    memory.verify()
    assert memory.policy == DEFAULT


VERBS: dict[str, Verb] = {
    "session": session,
    "learn": lambda memory: (memory.learn("bees", command_id="l"), memory.learn_many(["wasps"])),
    "recall": lambda memory: memory.recall("bees", suggest=True, record=False),
    "repeated recall": lambda memory: [memory.recall("bees", command_id="r") for _ in "12"],
    "decision": lambda memory: decided(memory, memory.recall("bees").decision_id or ""),
    "connect_by_query": lambda memory: memory.connect_by_query("porch 1", "porch 2", "supports"),
    "change": change,
    "reembed": lambda memory: memory.reembed(HashEmbedder(8)),
    "queries": queries,
    "seat": lambda memory: memory.seat(actor="ines", session=memory.start_session().session_id),
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


def test_nobody_carries_a_memory_away_without_the_guard(opened: Open, tmp_path: Path) -> None:
    memory = opened()
    memory.learn("bees sleep on the porch")
    memory.consolidate()
    with unguarded(memory) as found:
        exchange(memory, tmp_path)
    assert found == []


@pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS)
def test_nobody_looks_at_the_state_without_the_guard(opened: Open, verb: Verb) -> None:
    memory = opened(actor="ines")
    for number in range(6):
        memory.learn(f"bees sleep on porch {number}")
    memory.consolidate(command_id="asked before")
    memory.deep_reference("bees", command_id="asked before too")
    with unguarded(memory) as found:
        verb(memory)
    assert found == []


@pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS)
def test_nobody_waits_for_the_turn_with_the_guard_in_hand(opened: Open, verb: Verb) -> None:
    store = Queues()
    memory = opened(store, actor="ines")
    for number in range(6):
        memory.learn(f"bees sleep on porch {number}")
    memory.consolidate(command_id="asked before")
    memory.deep_reference("bees", command_id="asked before too")
    store.guard = memory._space.guard  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
    before = store.waits
    memory.learn("bees that wait")
    verb(memory)
    assert (store.waits > before, store.found) == (True, [])
