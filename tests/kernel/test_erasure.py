"""Payloads are struck from events in memory, by owner."""

from __future__ import annotations

from mnemic.kernel.erasure import without_payloads
from mnemic.kernel.events import (
    BlockLearned,
    BlocksPromoted,
    EdgeConnected,
    RecallRecorded,
    Recorded,
)
from mnemic.kernel.events.decisions import Answer
from mnemic.kernel.model.identity import BlockId, CommandId
from mnemic.kernel.model.texts import ERASED, BlockText, Question, Remark
from mnemic.kernel.model.vectors import quantise
from mnemic.kernel.policy import DEFAULT
from tests.kernel.decisions.logs import promotion, recorded

A, B = BlockId("a" * 16), BlockId("b" * 16)
NOTE = Remark(of=(A, B), text="why")
LOG = recorded(
    *(BlockLearned(block_id=block, text=BlockText(of=(block,), content=block)) for block in (A, B)),
    BlocksPromoted(
        promotions=tuple(promotion(block, quantise([1.0], dimension=1)) for block in (A, B))
    ),
    EdgeConnected(source=A, target=B, relation="supports", weight=1, action="created", note=NOTE),
    RecallRecorded(
        asked=Question(query="what"),
        vector=None,
        answer=Answer(rows=()),
        digest="0" * 16,
        policy_id=DEFAULT.id,
        recipe="recall-3",
        read_version=3,
        read_us=0,
        asked_us=0,
    ),
)


def payloads(log: list[Recorded]) -> list[bool]:
    """Return whether each payload of ``LOG`` is there, in order."""
    one, two, promoted, connected, recalled = (each.event for each in log)
    assert isinstance(one, BlockLearned)
    assert isinstance(two, BlockLearned)
    assert isinstance(promoted, BlocksPromoted)
    assert isinstance(connected, EdgeConnected)
    assert isinstance(recalled, RecallRecorded)
    vectors = [each.vector for each in promoted.promotions]
    return [
        each != ERASED for each in (one.text, two.text, *vectors, connected.note, recalled.asked)
    ]


def test_payloads_of_an_owner_are_erased_wherever_they_are() -> None:
    struck = [without_payloads(each, (A,)) for each in LOG]
    assert payloads(struck) == [False, True, False, True, False, True]


def test_every_payload_is_erased_with_the_space() -> None:
    assert not any(payloads([without_payloads(each, None) for each in LOG]))


def test_everything_else_stays_as_it_is() -> None:
    assert [without_payloads(each, ()) for each in LOG] == LOG
    envelope = without_payloads(LOG[0], (A,))
    assert (envelope.version, envelope.command_id) == (0, CommandId("c"))
