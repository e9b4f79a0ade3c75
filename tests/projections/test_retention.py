from __future__ import annotations

import numpy as np

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.system.clocks import ManualClock
from mnemic.kernel.numeric.arithmetic import NANO
from mnemic.projections.retrieval.retention import memory_of, retrievability
from mnemic.projections.view import View, as_of


def opened(clock: ManualClock) -> SyncMemory:
    return SyncMemory.open(":memory:", embedder=HashEmbedder(), clock=clock)


def view_of(memory: SyncMemory, version: int | None = None) -> View:
    state = memory._space.state  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
    return as_of(state, state.version if version is None else version)


def all_left(view: View) -> list[int]:
    found: list[int] = retrievability(view, view.known()).tolist()
    return found


def test_retention_is_zero_in_the_inbox_and_full_after_promotion() -> None:
    with opened(ManualClock()) as memory:
        memory.learn("The valve sticks in winter.")
        memory.consolidate()
        memory.learn("The spare key hangs behind the door.")
        view = view_of(memory)
        assert all_left(view) == [NANO, 0]
        assert memory_of(view, 1) is None


def test_retention_falls_with_active_hours_and_an_outcome_restores_it() -> None:
    clock = ManualClock()
    with opened(clock) as memory:
        block = memory.learn("The valve sticks in winter.").block_id
        memory.consolidate()
        memory.start_session()
        for _ in range(48):
            clock.advance(hours=1)
            memory.recall("valve")
        faded = view_of(memory)
        memory.outcome([block], 0.9)
        fresh = view_of(memory)
        before, after = memory_of(faded, 0), memory_of(fresh, 0)
        assert all_left(faded)[0] < NANO == all_left(fresh)[0]
        assert before is not None
        assert after is not None
        assert before.stability < after.stability


def test_a_view_of_the_past_ignores_later_reviews() -> None:
    with opened(ManualClock()) as memory:
        block = memory.learn("The valve sticks in winter.").block_id
        memory.consolidate()
        then = memory.status().version
        before = memory_of(view_of(memory), 0)
        memory.outcome([block], 0.1)
        memory.outcome([block], 0.1)
        now = memory_of(view_of(memory), 0)
        assert memory_of(view_of(memory, then), 0) == before
        assert now is not None
        assert now.lapses == 2


def test_retention_of_many_blocks_equals_that_of_each() -> None:
    clock = ManualClock()
    with opened(clock) as memory:
        blocks = [memory.learn(f"Fact number {one}").block_id for one in range(4)]
        memory.consolidate()
        memory.start_session()
        for block in blocks:
            clock.advance(hours=1)
            memory.outcome([block], 0.9)
        view = view_of(memory)
        alone = [int(retrievability(view, np.array([one]))[0]) for one in range(4)]
        assert all_left(view) == alone
        assert alone == sorted(alone)
