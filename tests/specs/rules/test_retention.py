from __future__ import annotations

import pytest

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.system.clocks import ManualClock
from mnemic.kernel.numeric import retention
from mnemic.kernel.numeric.arithmetic import nano
from mnemic.kernel.numeric.retention import MICROS_PER_FSRS_DAY, Memory
from mnemic.specs.rules import Row, rows
from tests.specs.columns import retrievability


def after(stability: float, difficulty: float = 5.0) -> Memory:
    return Memory(stability, difficulty, reps=0, lapses=0, reviewed_us=0)


@pytest.mark.parametrize("row", rows("retention.left"), ids=str)
def test_retrievability_falls_with_active_time(row: Row) -> None:
    at = row.given["days"] * MICROS_PER_FSRS_DAY
    assert row.tells("left", retrievability(after(row.given["stability"]), at))


@pytest.mark.parametrize("row", rows("retention.first"), ids=str)
def test_the_first_review_sets_stability_and_difficulty(row: Row) -> None:
    memory = retention.first(row.given["rating"], 0)
    assert row.tells("stability", nano(memory.stability))
    assert row.tells("difficulty", nano(memory.difficulty))


@pytest.mark.parametrize("row", rows("retention.review"), ids=str)
def test_a_later_review_changes_stability_and_difficulty(row: Row) -> None:
    given = row.given
    memory = after(given["stability"], given["difficulty"])
    moved = retention.reviewed(memory, given["rating"], given["days"] * MICROS_PER_FSRS_DAY)
    for name in row.then:
        assert row.tells(name, nano(getattr(moved, name)))


@pytest.mark.parametrize("row", rows("retention.when"), ids=str)
def test_a_review_is_a_promotion_or_an_outcome(row: Row) -> None:
    with SyncMemory.open(":memory:", embedder=HashEmbedder(), clock=ManualClock()) as memory:
        block = memory.learn("The pump needs a new seal.").block_id
        memory.consolidate()
        with memory.session():
            memory.recall("pump")
            for signal in row.given["signals"]:
                memory.outcome([block], signal)
        memory.curate()
        state = memory._space.state  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
        reviews = state.catalogue.reviews.of(0, state.version)
    assert [review.rating for review in reviews] == row.then["ratings"]
