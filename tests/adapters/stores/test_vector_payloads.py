"""Detection of vectors among payloads, for a store that handles only bytes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from mnemic.adapters.codec import Codec
from mnemic.adapters.codec.sealing import LOCKED
from mnemic.adapters.stores.logs.vector_detection import DetectedVector, DetectedVectors
from mnemic.adapters.stores.vector_payloads import Embeddings
from mnemic.adapters.system.entropy import SeededEntropy
from mnemic.kernel.errors import LogCorrupt
from mnemic.kernel.events import (
    BlocksPromoted,
    EmbedderAdopted,
    EmbedderIdentity,
    Event,
    Promotion,
    Recorded,
    StagedVector,
    VectorsStaged,
)
from mnemic.kernel.model.identity import BlockId, CommandId
from mnemic.kernel.model.texts import AnalysisText, Embedding
from mnemic.kernel.model.vectors import pack, quantise
from mnemic.kernel.ports import PayloadRow, Record

CODEC = Codec(SeededEntropy("embeddings"))
EMBEDDINGS = Embeddings(CODEC)
ONE = EmbedderIdentity(name="one", dimension=3)
TWO = EmbedderIdentity(name="two", dimension=3)
BLOCKS = tuple(BlockId(f"{number:016x}") for number in range(4))
PACKED = tuple(pack(quantise(np.eye(3)[number % 3], dimension=3)) for number in range(4))


def vector(number: int) -> Embedding:
    return Embedding(of=(BLOCKS[number],), packed=PACKED[number])


def promoted(*numbers: int) -> BlocksPromoted:
    return BlocksPromoted(
        promotions=tuple(
            Promotion(
                block_id=BLOCKS[number],
                vector=vector(number),
                analysis=AnalysisText(of=(BLOCKS[number],), summary="short"),
                analysed="done",
            )
            for number in numbers
        )
    )


def staged(number: int) -> VectorsStaged:
    return VectorsStaged(
        embedder=TWO, vectors=(StagedVector(block_id=BLOCKS[number], vector=vector(number)),)
    )


def encoded(*events: Event) -> tuple[list[Record], list[PayloadRow]]:
    pairs = [
        CODEC.encode(
            Recorded(
                version=version,
                active_us=0,
                recorded_us=0,
                command_id=CommandId("test"),
                event=event,
            )
        )
        for version, event in enumerate(events)
    ]
    return [record for record, _ in pairs], [row for _, rows in pairs for row in rows]


def seen(records: Sequence[Record], rows: Sequence[PayloadRow]) -> DetectedVectors:
    return EMBEDDINGS.sightings(records, rows)


def test_every_vector_is_detected_with_block_and_embedder() -> None:
    events = (promoted(0), EmbedderAdopted(embedder=ONE), promoted(1, 2), staged(3))
    slots = [
        slot
        for slot, kind in enumerate(CODEC.kinds(encoded(promoted(1, 2))[0][0]))
        if kind is Embedding
    ]
    assert seen(*encoded(*events)) == DetectedVectors(
        vectors=(
            DetectedVector(0, slots[0], None, BLOCKS[0], PACKED[0]),
            DetectedVector(2, slots[0], ONE.id, BLOCKS[1], PACKED[1]),
            DetectedVector(2, slots[1], ONE.id, BLOCKS[2], PACKED[2]),
            DetectedVector(3, 0, TWO.id, BLOCKS[3], PACKED[3]),
        ),
        adopted=ONE.id,
    )


def test_events_without_vectors_yield_none() -> None:
    assert seen([Record(0, "thing-noted.1", b"{}")], ()) == DetectedVectors()


def test_an_erased_vector_is_detected_without_its_bytes() -> None:
    records, rows = encoded(staged(0), staged(1))
    assert seen(records, rows[1:]).vectors == (
        DetectedVector(0, 0, TWO.id),
        DetectedVector(1, 0, TWO.id, BLOCKS[1], PACKED[1]),
    )


def test_an_encrypted_vector_is_detected_without_its_bytes() -> None:
    records, rows = encoded(staged(0))
    locked = [row._replace(key=LOCKED + row.key) for row in rows]
    assert seen(records, locked).vectors == (DetectedVector(0, 0, TWO.id),)


def test_every_byte_of_a_payload_is_verified() -> None:
    records, rows = encoded(staged(0))
    EMBEDDINGS.verify(records[0], rows)
    EMBEDDINGS.verify(records[0], ())
    for wrong in (
        rows[0]._replace(data=PACKED[1]),
        rows[0]._replace(owners=(BLOCKS[1],)),
        rows[0]._replace(id="another"),
    ):
        with pytest.raises(LogCorrupt):
            EMBEDDINGS.verify(records[0], (wrong,))


def test_an_unreadable_record_is_named() -> None:
    records, rows = encoded(staged(0), staged(1))
    with pytest.raises(LogCorrupt) as caught:
        seen([records[0], records[1]._replace(body=b"[")], rows)
    assert caught.value.facts["version"] == 1
