"""Corrections: a corrected block never ranks before its correction."""

from __future__ import annotations

from itertools import combinations

import pytest

from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.system.clocks import ManualClock
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


def contents(answer: RecallResult) -> list[str]:
    return [block.content for block in answer.blocks]


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_changed_value_is_shown_with_what_it_contradicts(
    memory: SyncMemory, question: str | None
) -> None:
    old = memory.learn(THIRTY).block_id
    memory.learn("The payment service runs in two regions")
    memory.consolidate()
    new = memory.learn(SIXTY).block_id
    answer = memory.recall(question, top_k=20)
    assert {old, new} <= {*answer.block_ids}
    assert (memory.block(old).status, memory.block(new).status) == ("active", "active")
    (edge,) = (each for each in memory.edges(old) if each.relation == "contradicts")
    assert (edge.source_id, edge.target_id) == (new, old)


AGAIN = [THIRTY.lower(), f"- **{THIRTY}.**", f"{THIRTY}. It was raised in May."]
"""The same statement, and more than it."""


@pytest.mark.parametrize("again", AGAIN)
@pytest.mark.parametrize("question", QUESTIONS)
def test_the_same_statement_again_supersedes_the_older_block(
    memory: SyncMemory, again: str, question: str | None
) -> None:
    old = memory.learn(THIRTY).block_id
    memory.learn("The payment service runs in two regions")
    memory.consolidate()
    new = memory.learn(again).block_id
    answer = memory.recall(question, top_k=20)
    assert (old in answer.block_ids, new in answer.block_ids) == (False, True)
    assert memory.block(old).superseded_by == new


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_revision_supersedes_the_revised_block_however_different(
    memory: SyncMemory, question: str | None
) -> None:
    old = memory.learn(THIRTY).block_id
    memory.learn("The payment service runs in two regions")
    memory.consolidate()
    memory.outcome([old], 1.0)
    revised = memory.revise(old, "Payments: a request is given up after a full minute", "raised")
    answer = memory.recall(question, top_k=20)
    assert (old in answer.block_ids, revised.block_id in answer.block_ids) == (False, True)
    assert "30 seconds" not in answer.text
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
"""Corrections that are noted as near-duplicates of what they correct."""


def order(
    memory: SyncMemory, clock: ManualClock, *, old: str, new: str, question: str
) -> list[str]:
    """Return the order of a recorded near-duplicate pair in an answer."""
    memory.learn(old)
    memory.learn_many(["Anna sits next to the window", "Backups are kept for thirty days"])
    memory.consolidate()
    clock.advance(minutes=10)
    memory.learn(new)
    memory.consolidate()
    ((one, other, _),) = memory.near_duplicates()
    memory.connect(one.id, other.id, "contradicts", if_exists="update")
    return [answer for answer in contents(memory.recall(question)) if answer in {old, new}]


@pytest.mark.parametrize(("old", "new", "question"), NOTED)
def test_of_a_near_duplicate_pair_the_newer_comes_first(
    memory: SyncMemory, clock: ManualClock, *, old: str, new: str, question: str
) -> None:
    assert order(memory, clock, old=old, new=new, question=question) == [new, old]


@pytest.mark.parametrize(
    ("pair", "question"), [(NOTED[2], "backup start time"), (NOTED[3], "how to reach Anna")]
)
def test_of_a_near_duplicate_pair_the_newer_comes_first_for_every_query(
    memory: SyncMemory, clock: ManualClock, pair: tuple[str, str, str], question: str
) -> None:
    old, new, _ = pair
    assert order(memory, clock, old=old, new=new, question=question) == [new, old]


def test_a_view_before_the_correction_shows_the_old_block(
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


def test_no_value_of_a_thing_is_lost_when_it_changes_twice(memory: SyncMemory) -> None:
    values = [
        f"The request timeout of the payment service is {seconds} seconds"
        for seconds in (30, 60, 90)
    ]
    ids = []
    pairs = []
    for value in values:
        ids.append(memory.learn(value).block_id)
        pairs += [(each.older, each.newer) for each in memory.consolidate().contradictions]
    answer = contents(memory.recall("what is the timeout of the payment service"))
    assert sorted(answer) == values
    assert sorted(pairs) == sorted(combinations(ids, 2))
