"""Exploration: where the truth is known, the corrected mean is near it and the plain one is not."""

from __future__ import annotations

import pytest
from attrs import evolve

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.system.clocks import ManualClock
from mnemic.adapters.system.entropy import SeededEntropy
from mnemic.kernel.policy import DEFAULT, Frame, Policy
from mnemic.kernel.results import Backtest

WORLD = (
    # content, confidence, date, and its gain whenever it is shown
    ("the harbour gate", 0.9, "2025-12-31", 0.3),
    ("the harbour crane", 0.8, "2025-12-01", 0.2),
    ("the harbour rope", 0.7, "2025-12-02", 0.9),
    ("the harbour buoy", 0.6, "2025-12-30", 0.7),
)
RECALLS = 200
EXPLORE = 0.3
POOL = 3
"""All but the gate, which always ranks first."""


def attention(name: str, *, top_k: int, **weights: float) -> Policy:
    """Return a policy that ranks by one signal, and whose pool contains all blocks."""
    others = [frame for frame in DEFAULT.frames if frame.name != "attention"]
    frames = (Frame(name="attention", **weights), *others)  # type: ignore[arg-type]
    return evolve(
        DEFAULT,
        name=name,
        default_frame="attention",
        frames=frames,
        top_k=top_k,
        runners_up=len(WORLD),
    )


SUREST = attention("surest", top_k=2, confidence=1.0)
"""Gate and crane: what was recorded, but for chance. Worth (.3 + .2) / 2."""
NEWEST = attention("newest", top_k=2, recency=1.0)
"""Gate, which was always shown, and buoy, which chance alone showed. Worth (.3 + .7) / 2."""
WIDER = attention("wider", top_k=3, confidence=1.0)
"""Gate, crane and rope. Worth (.3 + .2 + .9) / 3."""


@pytest.fixture(scope="module")
def explored() -> Backtest:
    """Sessions with one question each, whose blocks are scored one by one."""
    clock = ManualClock()
    memory = SyncMemory.open(
        MemoryStore(),
        embedder=HashEmbedder(),
        clock=clock,
        entropy=SeededEntropy("world"),
        policy=SUREST,
    )
    worth = {
        memory.learn(content, confidence=confidence, created_at=date).block_id: gain
        for content, confidence, date, gain in WORLD
    }
    for _ in range(RECALLS):
        with memory.session():
            for block in memory.recall("harbour", explore=EXPLORE).block_ids:
                memory.outcome([block], worth[block])
            clock.advance(minutes=6)
    found = memory.backtest([SUREST, NEWEST, WIDER], horizon_hours=0.05)
    memory.close()
    return found


@pytest.mark.parametrize(
    ("row", "truth", "off"),
    [(0, 0.25, 0.005), (1, 0.25, 0.005), (2, 0.5, 0.05), (3, 1.4 / 3, 0.06)],
    ids=["what was recorded", "what was in force", "another order", "a longer answer"],
)
def test_the_corrected_mean_is_near_the_truth(
    explored: Backtest, row: int, truth: float, off: float
) -> None:
    corrected = explored.scores[row].corrected
    assert corrected is not None
    assert corrected.mean == pytest.approx(truth, abs=off)
    assert corrected.effective > 50


def test_the_plain_mean_is_biased_and_its_bounds_contain_the_truth(explored: Backtest) -> None:
    newest, wider = explored.scores[2].reward, explored.scores[3].reward
    assert newest is not None
    assert wider is not None
    assert newest.mean < 0.35
    assert wider.mean < 0.35
    assert newest.floor <= 0.5 <= newest.ceiling
    assert wider.floor <= 1.4 / 3 <= wider.ceiling


def test_blocks_of_the_pool_are_shown_as_often_as_their_propensity(explored: Backtest) -> None:
    shown = [score.corrected.blocks for score in explored.scores[1:] if score.corrected]
    by_chance = EXPLORE / POOL
    gate_and = [1 - EXPLORE + by_chance, by_chance, 1 - EXPLORE + 2 * by_chance]
    assert shown == pytest.approx([RECALLS * (1 + share) for share in gate_and], abs=15)
