"""What was told last is what counts: an old answer never stands before its correction."""

from __future__ import annotations

import pytest

from mnemic.adapters.clocks import ManualClock
from mnemic.adapters.inprocess import SyncMemory
from mnemic.kernel.results import RecallResult

THIRTY = "The request timeout of the payment service is 30 seconds"
SIXTY = "The request timeout of the payment service is 60 seconds"
QUESTIONS = [
    "what is the timeout of the payment service",
    "payment service timeout",
    "is the request timeout of the payment service 30 seconds",
    THIRTY,
    None,
]


def contents(told: RecallResult) -> list[str]:
    return [block.content for block in told.blocks]


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_near_duplicate_takes_the_place_of_what_it_corrects(
    memory: SyncMemory, question: str | None
) -> None:
    old = memory.learn(THIRTY).block_id
    memory.learn("The payment service runs in two regions")
    memory.consolidate()
    new = memory.learn(SIXTY).block_id
    told = memory.recall(question, top_k=20)
    assert (old in told.block_ids, new in told.block_ids) == (False, True)
    assert memory.block(old).superseded_by == new
    assert "30 seconds" not in told.text


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_revision_takes_the_place_of_what_it_revises_however_different_it_reads(
    memory: SyncMemory, question: str | None
) -> None:
    old = memory.learn(THIRTY).block_id
    memory.learn("The payment service runs in two regions")
    memory.consolidate()
    memory.outcome([old], 1.0)
    revised = memory.revise(old, "Payments: a request is given up after a full minute", "raised")
    told = memory.recall(question, top_k=20)
    assert (old in told.block_ids, revised.block_id in told.block_ids) == (False, True)
    assert "30 seconds" not in told.text
    assert memory.block(revised.block_id).evidence == 1.0


def test_the_correction_comes_first(memory: SyncMemory, clock: ManualClock) -> None:
    memory.learn(THIRTY)
    memory.learn("The payment service runs in two regions")
    memory.learn("The search service has a timeout of five seconds")
    memory.consolidate()
    clock.advance(hours=1)
    memory.learn(SIXTY)
    assert contents(memory.recall("what is the timeout of the payment service"))[0] == SIXTY


NOTED = [
    ("timeout is 30 s", "timeout is 60 s", "what is the timeout"),
    (
        "Payment service: the timeout of a request is 30 seconds.",
        "Payment service: the timeout of a request is now 60 seconds, no longer 30.",
        "what is the timeout of the payment service",
    ),
    (
        "The nightly backup starts at two in the morning.",
        "The nightly backup now starts at four in the morning.",
        "when does the nightly backup start?",
    ),
    (
        "Anna's phone number is 555 0199",
        "Anna's phone number is 555 0142",
        "what is Anna's number?",
    ),
]
"""Corrections that are too far from what they correct to take its place: the pair is noted."""


def order(
    memory: SyncMemory, clock: ManualClock, *, old: str, new: str, question: str
) -> list[str]:
    """Return which of a noted pair comes when, among other things."""
    memory.learn(old)
    memory.learn_many(["Anna sits next to the window", "Backups are kept for thirty days"])
    memory.consolidate()
    clock.advance(minutes=10)
    memory.learn(new)
    memory.consolidate()
    assert len(memory.near_duplicates()) == 1
    return [told for told in contents(memory.recall(question)) if told in {old, new}]


@pytest.mark.parametrize(("old", "new", "question"), NOTED)
def test_of_a_noted_pair_the_newer_comes_first_where_both_are_asked_for(
    memory: SyncMemory, clock: ManualClock, *, old: str, new: str, question: str
) -> None:
    assert order(memory, clock, old=old, new=new, question=question) == [new, old]


@pytest.mark.parametrize(
    ("pair", "question"), [(NOTED[2], "backup start time"), (NOTED[3], "how to reach Anna")]
)
def test_of_a_noted_pair_the_newer_comes_first_however_it_is_asked_for(
    memory: SyncMemory, clock: ManualClock, pair: tuple[str, str, str], question: str
) -> None:
    old, new, _ = pair
    assert order(memory, clock, old=old, new=new, question=question) == [new, old]


def test_what_was_known_before_the_correction_is_still_what_was_known_then(
    memory: SyncMemory, clock: ManualClock
) -> None:
    memory.learn(THIRTY)
    before = memory.recall("what is the timeout of the payment service")
    clock.advance(days=2)
    memory.learn(SIXTY)
    memory.consolidate()
    then = memory.as_of(decision=before.decision_id)
    assert contents(then.recall("what is the timeout of the payment service")) == [THIRTY]
    assert memory.replay(before.decision_id or "").outcome == "reproduced"


def test_a_correction_of_a_correction_leaves_only_the_last(memory: SyncMemory) -> None:
    for seconds in (30, 60, 90):
        memory.learn(f"The request timeout of the payment service is {seconds} seconds")
        memory.consolidate()
    told = contents(memory.recall("what is the timeout of the payment service"))
    assert told == ["The request timeout of the payment service is 90 seconds"]
