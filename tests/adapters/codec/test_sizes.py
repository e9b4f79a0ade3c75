"""The size of typical events in a log: their body and the digest of the record before."""

from __future__ import annotations

from itertools import combinations

import pytest

from mnemic.adapters.codec import Codec
from mnemic.adapters.system.entropy import SeededEntropy
from mnemic.kernel.events import (
    Answer,
    AnswerRow,
    BlockLearned,
    EdgeConnected,
    Event,
    RecallRecorded,
    Recorded,
    RunnerUp,
)
from mnemic.kernel.model.identity import (
    BlockId,
    CommandId,
    PolicyId,
    SessionId,
)
from mnemic.kernel.model.texts import (
    BlockText,
    Embedding,
    Question,
    Remark,
)

DIGEST_BYTES = 32
A, B, C = BlockId("0a1b2c3d4e5f6071"), BlockId("18f7e6d5c4b3a291"), BlockId("2c" * 8)

LEARNED = BlockLearned(
    block_id=A,
    text=BlockText(content="Oil the lamp on Thursdays.", tags=("lamp",), of=(A,)),
    category="observation",
    source="import",
    zone="untrusted",
    confidence=900_000_000,
    created_at_us=1_767_139_200_000_000,
)
CONNECTED = EdgeConnected(
    source=A,
    target=B,
    relation="elaborates",
    weight=700_000_000,
    action="created",
    note=Remark(text="Fog is why the lamp burns.", of=(A, B)),
    displaced=((A, C),),
)
BLOCKS = [7_919 * n % 10_007 for n in range(1, 26)]
"""Scattered over a space of ten thousand blocks."""
RECALLED = RecallRecorded(
    asked=Question(query="When does the lamp need oil?"),
    vector=Embedding(packed=bytes(512)),
    answer=Answer(
        rows=tuple(
            AnswerRow(
                block,
                730_123_457 - 31_415_927 * n,
                (
                    901_234_567 - 61_803_399 * n,
                    951_229_425 - 103_993_337 * n,
                    *(500_000_000, 800_000_000, 0, -1, -1),
                    977_777_777 - 167_711_113 * n,
                    733_333_333 - 27_182_818 * n,
                ),
            )
            for n, block in enumerate(BLOCKS[:5])
        ),
        runners_up=tuple(
            RunnerUp(block, 580_123_456 - 11_235_813 * n) for n, block in enumerate(BLOCKS[5:])
        ),
    ),
    digest="0123456789abcdef",
    policy_id=PolicyId("5ca1ab1e0ddba11f"),
    recipe="lexical-1+vector-1",
    read_version=123_456,
    read_us=144_123_456_789,
    asked_us=1_767_225_600_120_000,
    staged=tuple(combinations(sorted(BLOCKS[:5]), 2)),
)


@pytest.mark.parametrize(
    ("event", "limit"),
    [(LEARNED, 350), (CONNECTED, 350), (RECALLED, 700)],
    ids=["learned", "connected", "recalled"],
)
def test_a_typical_event_stays_within_its_limit(event: Event, limit: int) -> None:
    recorded = Recorded(
        version=123_460,
        active_us=144_123_460_000,
        recorded_us=1_767_225_600_123_456,
        command_id=CommandId("Qm9yZWFsaXM"),
        event=event,
        session_id=SessionId("s-lighthouse"),
    )
    record, _ = Codec(SeededEntropy()).encode(recorded)
    assert len(record.body) + DIGEST_BYTES <= limit
