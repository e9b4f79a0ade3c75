"""Threads at once: every decision is the one that a single thread would have made at its version.

Threads promote, recall, connect, relink, look back and erase in one open space, and are switched as
often as the interpreter can. Afterwards one thread folds the same events alone. At each promotion
it decides again, on the version that this was decided on, and has to find the same events.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from itertools import groupby
from random import Random
from typing import Any

import numpy as np
import pytest

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.inprocess.view import SyncView
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.kernel.decisions.promotion import Candidate, decide_promotion
from mnemic.kernel.errors import MnemicError
from mnemic.kernel.events import BlockErased, BlocksPromoted, Event, Recorded
from mnemic.kernel.model.texts import Embedding
from mnemic.kernel.model.vectors import unpack
from mnemic.kernel.policy import Policy
from mnemic.kernel.ports import Head, Log, PayloadRow, Record
from mnemic.kernel.timestamps import Instant
from mnemic.projections.state.apply import apply
from mnemic.projections.state.checkpoint import freeze
from mnemic.projections.state.erasing import erased
from mnemic.projections.state.state import State
from mnemic.projections.storage.array_bundle import ArrayBundle
from mnemic.projections.view import live
from tests.adapters.inprocess.conftest import Open
from tests.thread_switches import switching_often

STEPS = 24
WORDS = "harbour gate crane storm tide gull rope lamp pier keel anchor buoy".split()
POLICY = Policy(name="tight", degree_cap=4, co_retrieval_sessions=2, consolidate_chunk=6)
EXPECTED = {
    "block-not-active",
    "block-not-found",
    "edge-not-found",
    "nothing-to-score",
    "self-loop",
    "version-conflict",
}
"""Refusals that are expected because another thread was first."""


class KeepingLog:
    """A log that keeps what is appended, with the text that is erased later."""

    def __init__(self, behind: Log) -> None:
        self._behind = behind
        self.kept: list[tuple[Record, tuple[PayloadRow, ...]]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._behind, name)

    def append(self, records: Sequence[Record], payloads: Sequence[PayloadRow], **how: Any) -> Head:
        head = self._behind.append(records, payloads, **how)
        for record in records:
            rows = tuple(row for row in payloads if row.version == record.version)
            self.kept.append((record, rows))
        return head


class KeepingStore(MemoryStore):
    """A store of such logs."""

    def __init__(self) -> None:
        super().__init__()
        self.logs: dict[str, KeepingLog] = {}

    def log(self, space: str, *, create: bool = True) -> Any:
        return self.logs.setdefault(space, KeepingLog(super().log(space, create=create)))


class Caller:
    """One thread, with a session handle and a repeated step."""

    def __init__(self, memory: SyncMemory, name: str, step: Callable[[Caller], object]) -> None:
        self.memory = memory.session_handle(actor=name)
        self.chance = Random(name)  # noqa: S311 - the same steps in every run
        self._name, self._step = name, step
        self._said = 0
        self.failure: BaseException | None = None

    def run(self) -> None:
        try:
            self.memory.start_session()
            for _ in range(STEPS):
                try:
                    self._step(self)
                except MnemicError as error:
                    if error.code not in EXPECTED:
                        raise
        except BaseException as error:  # noqa: BLE001 - the test raises it
            self.failure = error

    def words(self, count: int) -> str:
        self._said += 1
        return f"{' '.join(self.chance.choices(WORDS, k=count))} {self._name} {self._said}"

    def block(self) -> str:
        found = self.memory.blocks(limit=1000).items
        return self.chance.choice(found).id if found else "0" * 16

    def promote(self) -> None:
        for _ in range(3):
            tags = self.chance.sample(WORDS, k=self.chance.randrange(3))
            self.memory.learn(self.words(5), tags=tags, author=self._name, thread=self._name)
        self.memory.consolidate(limit=3)

    def recall(self) -> None:
        found = self.memory.recall(self.words(2))
        self.memory.outcome(list(found.block_ids[:2]), 0.8)

    def connect(self) -> None:
        self.memory.connect(self.block(), self.block(), "supports", note=self.words(1))
        self.memory.consolidate(relink=True)

    def look_back(self) -> None:
        log_state = self.memory._space.log_state  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
        view = self.memory.as_of(version=self.chance.randrange(1, self.memory.status().version + 1))
        erasures, before = log_state.erasures, seen(view)
        self.memory.history(of=self.block())
        after = seen(view)
        if log_state.erasures == erasures:  # erased text is gone from every view
            assert after == before

    def erase(self) -> None:
        for _ in range(3):
            self.memory.learn(self.words(3))
        self.memory.consolidate(limit=2)
        if self.chance.random() < 0.3:
            self.memory.erase(self.block())


def seen(view: SyncView) -> tuple[object, ...]:
    """Return answers of a view of the past."""
    return view.recall(WORDS[0]), view.frontier(), view.status(), view.timeline()


def decided_alone(state: State, events: Sequence[Recorded]) -> tuple[Event, ...]:
    """Return the events of a promotion, decided on the state before it."""
    at = Instant(events[0].active_us, events[0].recorded_us)
    candidates = []
    for promotion in next(
        e.event for e in events if isinstance(e.event, BlocksPromoted)
    ).promotions:
        assert isinstance(promotion.vector, Embedding)
        number = state.catalogue.numbers[promotion.block_id]
        vector = unpack(promotion.vector.packed)
        candidates.append(Candidate(number=number, vector=vector, analysed=promotion.analysed))
    view = live(state, active_us=at.active_us, instant_us=at.recorded_us)
    return decide_promotion(view, candidates, at, embedder=HashEmbedder().identity).events


def folded_alone(log: Sequence[Recorded]) -> tuple[State, int]:
    """Fold a log in one thread, check its promotions, and return the state and their number."""
    state, promotions = State(), 0
    for _, command in groupby(log, key=lambda each: each.command_id):
        events = list(command)
        if any(isinstance(each.event, BlocksPromoted) for each in events):
            promotions += 1
            assert decided_alone(state, events) == tuple(each.event for each in events)
        gone = {each.event.block_id for each in events if isinstance(each.event, BlockErased)}
        if gone:
            without = erased(state, gone)
            assert without is not None
            state = without
        for each in events:
            apply(state, each)
    return state, promotions


def differing(one: ArrayBundle, other: ArrayBundle) -> list[str]:
    """Return the names of the parts in which two states differ."""
    return sorted(
        name
        for name in one.keys() | other.keys()
        if name not in one or name not in other or not np.array_equal(one[name], other[name])
    )


@pytest.mark.extended
def test_decisions_of_threads_at_once_are_those_of_one_thread(opened: Open) -> None:
    store = KeepingStore()
    memory = opened(store, policy=POLICY)
    steps = (
        Caller.promote,
        Caller.promote,
        Caller.recall,
        Caller.connect,
        Caller.look_back,
        Caller.erase,
    )
    callers = [Caller(memory, f"{place} {step.__name__}", step) for place, step in enumerate(steps)]
    threads = [threading.Thread(target=caller.run) for caller in callers]
    with switching_often():
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for caller in callers:
        if caller.failure is not None:
            raise caller.failure
    summary = memory.replay_all()
    assert (summary.reproduced + summary.sealed, summary.differs) == (summary.decisions, 0)
    space = memory._space  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
    (log,) = store.logs.values()
    state, promotions = folded_alone([space.decoded(*each) for each in log.kept])
    assert promotions >= STEPS
    assert differing(freeze(space.log_state.state), freeze(state)) == []
