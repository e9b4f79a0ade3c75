"""Readers hold no lock of the engine, and nobody waits for other processes with the fold lock."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from attrs import evolve

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.inprocess.engine.fifo_lock import FifoLock
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.kernel.errors import PointOutOfRange
from mnemic.kernel.policy import DEFAULT, Policy
from tests.adapters.inprocess.conftest import Open
from tests.adapters.inprocess.engine.contended_logs import WaitReportingLog

Operation: TypeAlias = Callable[[SyncMemory], object]

SOON_S = 60


def fold_lock(memory: SyncMemory) -> FifoLock:
    return memory._space.log_state.lock  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]


class RecordingStore(MemoryStore):
    """A store that records the call paths of waits for the write lock with the fold lock held."""

    def __init__(self) -> None:
        super().__init__()
        self.lock: FifoLock | None = None
        self.waits = 0
        self.found: list[str] = []

    def log(self, space: str, *, create: bool = True) -> Any:
        return WaitReportingLog(super().log(space, create=create), self._note)

    def _note(self) -> None:
        self.waits += 1
        if self.lock is not None and self.lock.is_mine:
            frames = traceback.extract_stack()
            self.found.append(" < ".join(frame.name for frame in reversed(frames[-8:-2])))


@contextmanager
def writing(memory: SyncMemory) -> Generator[None]:
    """Hold the locks that a writer holds while it folds and commits."""
    space = memory._space  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
    with space.log.write_lock(), space.log_state.lock:
        yield


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


READS: dict[str, Operation] = {
    "queries": queries,
    "recall": lambda memory: memory.recall("bees", record=False, suggest=True).block_ids,
    "views": lambda memory: memory.as_of(version=3).recall("bees"),
    "decided": lambda memory: [
        memory.explain(decision_of(memory)),
        memory.why_not(decision_of(memory), memory.blocks().items[0].id),
        memory.replay(decision_of(memory)),
        memory.what_if(decision_of(memory), query="porch"),
        memory.replay_all(),
        memory.backtest([DEFAULT]),
        memory.verify_receipt(memory.receipt(decision_of(memory))),
    ],
    "deep_reference": lambda memory: memory.deep_reference("bees", record=False),
    "session_handle": lambda memory: memory.session_handle(actor="ines").policy,
    "a repeated command": lambda memory: memory.consolidate(command_id="asked before"),
    "a command without effect": lambda memory: memory.curate(),
    "checkpoints": lambda memory: memory.checkpoints(),
}


def decision_of(memory: SyncMemory) -> str:
    """Return the id of the recall that was recorded last."""
    return next(
        f"d{each.version}" for each in reversed(memory.log()) if each.kind == "recall-recorded"
    )


def remembering(opened: Open, *where: Any) -> SyncMemory:
    memory = opened(*where, actor="ines")
    for number in range(6):
        memory.learn(f"bees sleep on porch {number}")
    memory.consolidate(command_id="asked before")
    memory.deep_reference("bees", command_id="asked before too")
    return memory


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_readers_do_not_wait_for_a_writer(opened: Open, read: Operation) -> None:
    memory = remembering(opened)
    memory.recall("bees")
    memory.curate()
    with ThreadPoolExecutor(1) as threads, writing(memory):
        threads.submit(read, memory).result(SOON_S)


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
def test_operations_never_wait_for_the_write_lock_with_the_fold_lock(
    opened: Open, operation: Operation
) -> None:
    store = RecordingStore()
    memory = remembering(opened, store)
    store.lock = fold_lock(memory)
    before = store.waits
    memory.learn("bees that wait")
    operation(memory)
    assert (store.waits > before, store.found) == (True, [])


def test_transfers_never_wait_for_the_write_lock_with_the_fold_lock(
    opened: Open, tmp_path: Path
) -> None:
    store = RecordingStore()
    memory = remembering(opened, store)
    store.lock = fold_lock(memory)
    transfers(memory, tmp_path)
    assert store.found == []


def test_readers_neither_name_nor_write_events_that_are_not_published(memory: SyncMemory) -> None:
    memory.learn("bees")
    head = memory.status().version
    space = memory._space  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
    again = space.event_at(head)
    assert again is not None
    log_state, reader = space.log_state, ThreadPoolExecutor(1)
    with reader, log_state.lock:
        # As in the middle of a group: folded to decide the next command, and appended later.
        log_state.fold([evolve(again, version=head + 1)])
        written = len(log_state.state.timeline.kind)
        latest = reader.submit(memory.as_of, at="9999-01-01").result(SOON_S)
        within = reader.submit(memory.as_of, hour=0.0).result(SOON_S)
        assert (latest.version, within.version) == (head, head)
        with pytest.raises(PointOutOfRange, match=f"ends at version {head}"):
            reader.submit(memory.as_of, version=head + 1).result(SOON_S)
        with pytest.raises(PointOutOfRange):
            reader.submit(memory.diff, head + 1, "now").result(SOON_S)
        assert len(log_state.state.timeline.kind) == written
        log_state.restore()
