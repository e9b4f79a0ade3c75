"""backtest: which judgments of a block count, and the bounds of a mean."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from attrs import evolve

from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.system.clocks import ManualClock
from mnemic.kernel.policy import DEFAULT, Frame, Policy
from mnemic.kernel.results import Backtest, Estimate

Open: TypeAlias = Callable[..., SyncMemory]
FACTS = ("gate", "crane", "rope", "lamp", "bell", "buoy")


def attention(name: str, *, top_k: int, **weights: float) -> Policy:
    """Return a policy that ranks by one signal."""
    others = [frame for frame in DEFAULT.frames if frame.name != "attention"]
    frames = (Frame(name="attention", **weights), *others)  # type: ignore[arg-type]
    return evolve(
        DEFAULT, name=name, default_frame="attention", frames=frames, top_k=top_k, runners_up=5
    )


SUREST = attention("surest", top_k=2, confidence=1.0)
NEWEST = attention("newest", top_k=2, recency=1.0)


def reward(found: Backtest, row: int = 0) -> Estimate | None:
    return found.scores[row].reward


# --- reverts ------------------------------------------------------------------------------------


def test_a_reverted_outcome_does_not_count(memory: SyncMemory) -> None:
    gate = memory.learn("the harbour gate").block_id
    decision = memory.recall("gate").decision_id
    memory.outcome(decision_id=decision, signal=0.9)
    wrong = memory.outcome([gate], 0.0)
    memory.outcome(decision_id=decision, signal=0.0)
    head = memory.status().version
    assert wrong.updated == (gate,)
    before = reward(memory.backtest([]))
    taken_back = memory.revert(head - 1, head)
    after = reward(memory.backtest([]))
    assert taken_back.evidence == (gate,)
    assert before is not None
    assert after is not None
    assert (before.mean, after.mean) == (0.45, 0.9)


def test_an_outcome_counts_again_once_its_revert_is_reverted(memory: SyncMemory) -> None:
    memory.learn("the harbour gate")
    decision = memory.recall("gate").decision_id
    memory.outcome(decision_id=decision, signal=0.7)
    head = memory.status().version
    answer = []
    for version in (head, head + 1, head + 2):
        memory.revert(version, version)
        answer.append(memory.backtest([]).judged)
    assert answer == [0, 1, 0]


def test_an_outcome_left_by_a_revert_counts(memory: SyncMemory) -> None:
    gate = memory.learn("the harbour gate").block_id
    memory.recall("gate")
    memory.outcome([gate], 1.0)
    first = memory.status().version
    memory.outcome([gate], 0.0)
    left = memory.revert(first, first)
    found = reward(memory.backtest([]))
    assert [each.what for each in left.conflicts if each.what == "evidence"] == ["evidence"]
    assert found is not None
    assert found.mean == 0.5


def test_a_reverted_label_does_not_count(memory: SyncMemory) -> None:
    gate = memory.learn("the harbour gate").block_id
    memory.recall("gate")
    lane = memory.compose([gate]).composition_id
    memory.label(lane, "accepted")
    head = memory.status().version
    assert memory.backtest([]).judged == 1
    memory.revert(head, head)
    assert memory.backtest([]).judged == 0


# --- bounds -------------------------------------------------------------------------------------


def test_bounds_include_decisions_without_judged_blocks(opened: Open, clock: ManualClock) -> None:
    memory = opened(policy=evolve(SUREST, top_k=1))
    old = memory.learn("the harbour gate", confidence=0.9, created_at="2025-06-01").block_id
    new = memory.learn("the harbour crane", confidence=0.1, created_at="2025-12-30").block_id
    with memory.session():
        memory.recall("harbour")
        memory.outcome([old, new], 0.8)
        clock.advance(minutes=30)
        memory.recall("harbour")
        memory.outcome([old], 0.6)
        clock.advance(minutes=30)
    found = memory.backtest([evolve(NEWEST, top_k=1)], horizon_hours=0.25)
    recorded, newest = reward(found), reward(found, 1)
    assert recorded is not None
    assert newest is not None
    assert (recorded.mean, recorded.floor, recorded.ceiling) == (0.7, 0.7, 0.7)
    # The newer block was judged in one of the two; its gain in the other is unknown.
    assert (newest.decisions, newest.mean) == (1, 0.8)
    assert (newest.floor, newest.ceiling) == (0.4, 0.9)
