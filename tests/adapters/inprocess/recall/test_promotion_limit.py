"""A recall promotes for a limited time, higher zones first; the rest follows in the background."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.inprocess.consolidation.inbox_worker import InboxWorker
from mnemic.adapters.system.clocks import ManualClock
from mnemic.kernel.errors import VectorRefused
from mnemic.kernel.policy import Policy
from tests.adapters.inprocess.conftest import Open

TEXT_MS = 10
"""What the clock advances for each text that is embedded."""
LIMIT_MS = 100
LIMITED = Policy(recall_promotion_ms=LIMIT_MS)


class SlowEmbedder:
    """The hash embedder, which takes time by the clock of the test."""

    identity = HashEmbedder().identity

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock
        self.resume = Event()
        self.resume.set()

    def embed(self, texts: Sequence[str]) -> Any:
        assert self.resume.wait(30)
        self._clock.advance(microseconds=TEXT_MS * 1000 * len(texts))
        return HashEmbedder().embed(texts)


@pytest.fixture
def embedder(clock: ManualClock) -> SlowEmbedder:
    return SlowEmbedder(clock)


@pytest.fixture
def alone(opened: Open, embedder: SlowEmbedder) -> SyncMemory:
    """A memory without a background thread."""
    memory = opened(embedder=embedder, policy=LIMITED)
    memory._inbox_worker.close()  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
    return memory


def flood(memory: SyncMemory, count: int = 200, *, source: str = "web") -> None:
    memory.learn_many([{"content": f"flood {n}", "source": source} for n in range(count)])


def test_a_recall_promotes_for_a_limited_time(alone: SyncMemory, clock: ManualClock) -> None:
    flood(alone)
    begun = clock.now_us()
    answer = alone.recall("flood")
    spent_ms = (clock.now_us() - begun) / 1000
    # The first chunk is of the size that was assumed, and the last one may end after the limit.
    assert spent_ms <= 6 * LIMIT_MS
    assert answer.waiting == alone.status().inbox > 0
    assert answer.warnings == (
        f"not searched: {answer.waiting} blocks in the inbox; consolidate promotes them",
    )


def test_later_recalls_keep_the_limit(alone: SyncMemory, clock: ManualClock) -> None:
    flood(alone)
    alone.recall("flood")
    for _ in range(3):
        before, begun = alone.status().inbox, clock.now_us()
        assert alone.recall("flood").waiting < before
        # One text more, before the time counts, and the question.
        assert (clock.now_us() - begun) / 1000 <= LIMIT_MS + 2 * TEXT_MS


def test_higher_zones_are_promoted_first(alone: SyncMemory) -> None:
    flood(alone)
    fact = alone.learn("the harbour gate opens at six").block_id
    assert fact in alone.recall("when does the harbour gate open?").block_ids
    assert alone.status().inbox > 0


def test_the_rest_is_promoted_in_the_background(opened: Open, embedder: SlowEmbedder) -> None:
    memory = opened(embedder=embedder, policy=LIMITED)
    flood(memory)
    memory.recall("flood")
    assert memory._inbox_worker.wait(30)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
    assert (memory.status().inbox, memory.status().active) == (0, 200)


def test_a_recall_leaves_the_flood_to_a_background_at_work(
    opened: Open, embedder: SlowEmbedder, clock: ManualClock
) -> None:
    memory = opened(embedder=embedder, policy=LIMITED)
    flood(memory)
    memory.recall("flood")
    worker = memory._inbox_worker  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
    worker.close()
    memory._inbox_worker = Running()  # type: ignore[assignment] # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
    fact = memory.learn("the harbour gate opens at six").block_id
    waiting, begun = memory.status().inbox, clock.now_us()
    assert fact in memory.recall("when does the harbour gate open?").block_ids
    assert memory.status().inbox == waiting - 1
    assert clock.now_us() - begun <= 2 * TEXT_MS * 1000


class Running:
    """A background thread that is at work and gets nothing done."""

    is_running = True

    def start(self) -> None:
        """Be at work already."""

    def close(self) -> None:
        """End."""


def test_closing_ends_the_background_and_keeps_the_rest(
    opened: Open, path: Path, embedder: SlowEmbedder
) -> None:
    memory = opened(path, embedder=embedder, policy=LIMITED)
    flood(memory)
    memory.recall("flood")
    memory.close()
    with opened(path, embedder=embedder) as again:
        status = again.status()
        assert status.inbox + status.active == 200
        again.consolidate()
        assert again.status().active == 200


def test_decisions_made_under_the_limit_are_replayed_exactly(
    alone: SyncMemory, opened: Open
) -> None:
    flood(alone)
    first = alone.recall("flood 3", top_k=20)
    alone.recall("flood 150", top_k=20)
    alone.consolidate()
    replayed = opened().replay_all()  # by a clock that stays still
    assert (replayed.reproduced, replayed.differs) == (2, 0)
    then = opened().as_of(decision=first.decision_id).recall("flood 3", top_k=20)
    assert (then.block_ids, then.waiting) == (first.block_ids, first.waiting)


def test_a_clock_that_stays_still_never_reaches_the_limit(opened: Open) -> None:
    memory = opened(policy=LIMITED)
    flood(memory, 500)
    assert memory.recall("flood").waiting == 0


def test_without_a_limit_everything_is_promoted_first(opened: Open, embedder: SlowEmbedder) -> None:
    memory = opened(embedder=embedder, policy=Policy(recall_promotion_ms=1_000_000))
    flood(memory)
    assert memory.recall("flood").waiting == 0


def test_policies_adopted_before_the_limit_have_none() -> None:
    assert Policy.parse("{}").promotion_limit_us is None
    assert Policy().promotion_limit_us == 50_000


def test_the_end_of_a_session_keeps_the_limit(alone: SyncMemory, clock: ManualClock) -> None:
    alone.start_session()
    flood(alone, 400)
    begun = clock.now_us()
    alone.end_session()
    assert (clock.now_us() - begun) / 1000 <= 6 * LIMIT_MS
    assert alone.status().inbox > 0


def test_a_background_asked_for_more_during_its_last_round_goes_on() -> None:
    rounds = iter([False, False])
    begun, resume = Event(), Event()

    def promote() -> bool:
        begun.set()
        assert resume.wait(30)
        return next(rounds)

    worker = InboxWorker(promote)
    worker.start()
    assert begun.wait(30)
    worker.start()  # a recall that has just left something in the inbox
    resume.set()
    assert worker.wait(30)
    assert next(rounds, None) is None


def test_a_background_that_fails_can_begin_again() -> None:
    failures = iter([True, False])

    def promote() -> bool:
        if next(failures):
            raise VectorRefused("the model is away")
        return False

    worker = InboxWorker(promote)
    for _ in range(2):
        worker.start()
        assert worker.wait(30)
    assert next(failures, None) is None
