"""Reads of the state hold the state lock: another handle may be folding or replaying."""

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
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.inprocess.engine import log_state
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.kernel.policy import DEFAULT, Policy
from mnemic.projections.state.event_validation import impossible_event
from mnemic.projections.storage import columns
from tests.adapters.inprocess.conftest import Open
from tests.adapters.inprocess.engine.contended_logs import BusyLog

Operation: TypeAlias = Callable[[SyncMemory], object]

STATE_READS = {("_settle", columns.__file__), ("state", log_state.__file__)}


@contextmanager
def unlocked_reads(memory: SyncMemory) -> Generator[list[str]]:
    """Collect functions that read the state, or settle its tables, while the lock is free.

    A fold of the log into a state of its own, as a verification makes it, needs no lock.
    """
    state_lock, found = memory._space.state_lock, list[str]()  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]

    folding: list[int] = []

    def is_free() -> bool:
        taken = state_lock.acquire(blocking=False)
        if taken:
            state_lock.release()
        return taken

    with ThreadPoolExecutor(1) as other:

        def trace(frame: FrameType, event: str, _: Any) -> None:
            code, caller = frame.f_code, frame.f_back
            if code is impossible_event.__code__:
                folding.append(1 if event == "call" else -1)
            reads = not sum(folding) and (code.co_name, code.co_filename) in STATE_READS
            if event == "call" and reads and other.submit(is_free).result():
                found.append(caller.f_code.co_name if caller else "")

        sys.setprofile(trace)
        try:
            yield found
        finally:
            sys.setprofile(None)


class RecordingStore(MemoryStore):
    """A store of busy logs that records the call paths of waits with the state lock held."""

    def __init__(self) -> None:
        super().__init__()
        self.state_lock: RLock | None = None
        self.waits = 0
        self.found: list[str] = []

    def log(self, space: str, *, create: bool = True) -> Any:
        return BusyLog(super().log(space, create=create), self._note)

    def _note(self) -> None:
        self.waits += 1
        if self.state_lock is not None and not is_free(self.state_lock):
            frames = traceback.extract_stack()
            self.found.append(" < ".join(frame.name for frame in reversed(frames[-8:-2])))


def is_free(state_lock: RLock) -> bool:
    """Return whether another thread could acquire the state lock."""

    def take() -> bool:
        taken = state_lock.acquire(blocking=False)
        if taken:
            state_lock.release()
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


def view_before_erasure(memory: SyncMemory) -> None:
    view = memory.as_of(version=memory.status().version)
    memory.erase(memory.learn("cake to be erased").block_id)
    view.recall("bees")


def transfers(memory: SyncMemory, folder: Path) -> None:
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
    memory.erase_space("default")


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


OPERATIONS: dict[str, Operation] = {
    "session": session,
    "learn": lambda memory: (memory.learn("bees", command_id="l"), memory.learn_many(["wasps"])),
    "recall": lambda memory: memory.recall("bees", suggest=True, record=False),
    "repeated recall": lambda memory: [memory.recall("bees", command_id="r") for _ in "12"],
    "decision": lambda memory: decided(memory, memory.recall("bees").decision_id or ""),
    "connect_by_query": lambda memory: memory.connect_by_query("porch 1", "porch 2", "supports"),
    "change": change,
    "reembed": lambda memory: memory.reembed(HashEmbedder(8)),
    "queries": queries,
    "session_handle": lambda memory: memory.session_handle(
        actor="ines", session=memory.start_session().session_id
    ),
    "curate": lambda memory: (memory.curate(), memory.curate()),
    "consolidate": lambda memory: memory.consolidate(command_id="asked before"),
    "outcome": lambda memory: memory.outcome(composition_id=composed(memory), signal=0.5),
    "deep_reference": lambda memory: memory.deep_reference("bees", command_id="asked before too"),
    "backtest": backtest,
    "replay_all": replay_all,
    "a view from before an erasure": view_before_erasure,
}


def composed(memory: SyncMemory) -> str:
    return memory.compose([block.id for block in memory.blocks().items][:2]).composition_id


def test_transfers_hold_the_state_lock(opened: Open, tmp_path: Path) -> None:
    memory = opened()
    memory.learn("bees sleep on the porch")
    memory.consolidate()
    with unlocked_reads(memory) as found:
        transfers(memory, tmp_path)
    assert found == []


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
def test_operations_hold_the_state_lock_when_reading_the_state(
    opened: Open, operation: Operation
) -> None:
    memory = opened(actor="ines")
    for number in range(6):
        memory.learn(f"bees sleep on porch {number}")
    memory.consolidate(command_id="asked before")
    memory.deep_reference("bees", command_id="asked before too")
    with unlocked_reads(memory) as found:
        operation(memory)
    assert found == []


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
def test_operations_never_wait_for_the_write_lock_with_the_state_lock(
    opened: Open, operation: Operation
) -> None:
    store = RecordingStore()
    memory = opened(store, actor="ines")
    for number in range(6):
        memory.learn(f"bees sleep on porch {number}")
    memory.consolidate(command_id="asked before")
    memory.deep_reference("bees", command_id="asked before too")
    store.state_lock = memory._space.state_lock  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
    before = store.waits
    memory.learn("bees that wait")
    operation(memory)
    assert (store.waits > before, store.found) == (True, [])
