"""Many session handles at once: the log stays consistent under concurrent operations."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Generator
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, TypeAlias

import pytest

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.kernel.errors import MnemicError
from mnemic.kernel.policy import Policy
from tests.adapters.inprocess.conftest import Open

HANDLES, STEPS = 8, 25
WORDS = "harbour gate crane storm tide gull rope lamp pier keel".split()
POLICY = Policy(name="tight", degree_cap=4, co_retrieval_sessions=2, consolidate_chunk=3)
EXPECTED = {"session-state", "block-not-active", "block-not-found", "nothing-to-score", "self-loop"}
"""Refusals that are expected because another session handle was first."""

Step: TypeAlias = Callable[["Caller"], object]


class Caller:
    """A session handle with a random sequence of operations."""

    def __init__(self, memory: SyncMemory, number: int) -> None:
        self.memory = memory
        self.actor = f"caller {number}"
        self.session_handle = memory.session_handle(actor=self.actor)
        self.chance = Random(number)  # noqa: S311 - the same steps in every run
        self.command = ""
        self.done: list[tuple[int, str, str]] = []
        """Versions named by answers, with the expected event and actor."""
        self.again: list[tuple[Callable[[], object], object]] = []
        """Commands that can be repeated, and their answers."""
        self.failures: list[BaseException] = []

    def run(self) -> None:
        """Execute all steps; unexpected errors are kept for the test."""
        try:
            for number in range(STEPS):
                self.command = f"{self.actor}/{number}"
                step = self.chance.choice(STEPS_TO_TAKE)
                try:
                    step(self)
                except MnemicError as error:
                    if error.code not in EXPECTED:
                        raise
        except BaseException as error:  # noqa: BLE001 - raised by the test
            self.failures.append(error)

    def words(self, count: int) -> str:
        return " ".join(self.chance.choices(WORDS, k=count))

    def block(self) -> str:
        found = self.session_handle.blocks(limit=1000).items
        return self.chance.choice(found).id if found else "0" * 16

    def learn(self) -> None:
        words = f"{self.actor} saw {self.words(4)} {self.command}"
        learn = partial(self.session_handle.learn, words, command_id=self.command)
        learned = learn()
        self.done.append((learned.version, "block-learned", self.actor))
        self.again.append((learn, learned))

    def learn_the_same(self) -> None:
        self.session_handle.learn(self.words(1))

    def connect(self) -> None:
        self.session_handle.connect(self.block(), self.block(), "supports")

    def recall(self) -> None:
        found = self.session_handle.recall(self.words(2))
        assert self.session_handle.last_recall_block_ids == found.block_ids
        version = int(str(found.decision_id)[1:])
        self.done.append((version, "recall-recorded", self.actor))

    def outcome(self) -> None:
        self.session_handle.outcome(
            list(self.session_handle.last_recall_block_ids), self.chance.random()
        )

    def look_back(self) -> None:
        version = self.chance.randrange(1, self.session_handle.status().version + 1)
        view = self.session_handle.as_of(version=version)
        before = view.recall(frame="task").block_ids, view.status()
        assert (view.recall(frame="task").block_ids, view.status()) == before

    def replay(self) -> None:
        found = self.session_handle.recall(self.words(1))
        assert self.session_handle.replay(found.decision_id or "").outcome in {
            "reproduced",
            "sealed",
        }

    def sit(self) -> None:
        if not self.session_handle.status().open_sessions or self.chance.random() < 0.5:
            self.session_handle.start_session()
        else:
            self.session_handle.end_session()


STEPS_TO_TAKE: list[Step] = [
    Caller.learn,
    Caller.learn,
    Caller.learn_the_same,
    Caller.connect,
    Caller.connect,
    Caller.recall,
    Caller.recall,
    Caller.outcome,
    Caller.look_back,
    Caller.replay,
    Caller.sit,
    Caller.sit,
    lambda caller: caller.session_handle.consolidate(),
    lambda caller: caller.session_handle.consolidate(relink=True),
    lambda caller: caller.session_handle.curate(),
    lambda caller: caller.session_handle.forget(caller.block()),
    lambda caller: caller.session_handle.frontier(),
    lambda caller: caller.session_handle.deep_reference(caller.words(2)),
    lambda caller: caller.session_handle.timeline(),
]


@pytest.fixture
def frequent_thread_switches() -> Generator[None]:
    """Switch threads as often as the interpreter can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def run_concurrently(memory: SyncMemory, *meanwhile: Callable[[], object]) -> list[Caller]:
    """Run the steps of all callers concurrently, with further operations meanwhile."""
    callers = [Caller(memory, number) for number in range(HANDLES)]
    threads = [threading.Thread(target=caller.run) for caller in callers]
    for thread in threads:
        thread.start()
    for happens in meanwhile:
        happens()
    for thread in threads:
        thread.join()
    assert [failure for caller in callers for failure in caller.failures] == []
    return callers


def full_log(memory: SyncMemory) -> list[Any]:
    """Return the whole log."""
    found: list[Any] = []
    while page := memory.log(after=found[-1].version if found else -1, limit=1000):
        found += page
    return found


def check(memory: SyncMemory, callers: list[Caller]) -> None:
    log = full_log(memory)
    assert [moment.version for moment in log] == list(range(len(log)))
    assert memory.verify().sound
    answered = [each for caller in callers for each in caller.done]
    assert len({version for version, _, _ in answered}) == len(answered)
    stands = {moment.version: (moment.version, moment.kind, moment.actor) for moment in log}
    assert [stands[version] for version, _, _ in answered] == answered
    for caller in callers:
        assert [repeat() for repeat, _ in caller.again] == [answer for _, answer in caller.again]
    assert len(full_log(memory)) == len(log)
    begun = {each.session_id: each.actor for each in log if each.kind == "session-started"}
    within = [each for each in log if each.session_id is not None]
    assert [begun[each.session_id] for each in within] == [each.actor for each in within]
    summary = memory.replay_all()
    assert (summary.reproduced + summary.sealed, summary.differs) == (summary.decisions, 0)
    assert summary.sealed == 0 or "block-erased" in {each.kind for each in log}


@pytest.mark.usefixtures("frequent_thread_switches")
@pytest.mark.parametrize("kind", ["file", "memory"])
def test_the_log_is_sound_after_many_concurrent_session_handles(
    opened: Open, path: Path, store: MemoryStore, kind: str
) -> None:
    where: Path | MemoryStore = path if kind == "file" else store
    memory = opened(where, policy=POLICY)
    callers = run_concurrently(memory)
    check(memory, callers)
    assert opened(where).status() == memory.status()


@pytest.mark.usefixtures("frequent_thread_switches")
def test_concurrent_erasure_and_reembedding_cause_no_errors(opened: Open, path: Path) -> None:
    memory = opened(path, policy=POLICY)
    host = memory.session_handle(actor="host")
    secret = host.learn("the harbour gate mellifluous").block_id
    host.consolidate()
    callers = run_concurrently(
        memory,
        lambda: host.reembed(HashEmbedder(16)),
        lambda: host.erase(secret),
        lambda: host.reembed(HashEmbedder(8)),
        memory.checkpoint,
        memory.verify,
    )
    check(memory, callers)
    with opened(path, embedder=HashEmbedder(8)) as later:
        assert later.status() == memory.status()
