from __future__ import annotations

import base64
import hashlib
from typing import get_args

import pytest
from cattrs import ForbiddenExtraKeysError
from hypothesis import given

from mnemic.adapters.codec.payload_positions import places
from mnemic.adapters.codec.sealing import KINDS, Sealer, opener, payload_id
from mnemic.adapters.system.entropy import SeededEntropy
from mnemic.kernel.events import Event, Member, Promotion, Recorded, StagedVector
from mnemic.kernel.model.texts import (
    Embedding,
    Payload,
    Question,
    Remark,
    Salt,
)
from mnemic.kernel.ports import PayloadRow
from mnemic.specs.strategies.events import payloads


def seal(payload: Payload) -> tuple[str, PayloadRow]:
    return Sealer(SeededEntropy("seal")).seal(payload, version=3, slot=1)


def opened(mark: str, row: PayloadRow, payload: type[Payload]) -> Payload:
    return opener(payload)(mark, row)


def reseal(row: PayloadRow) -> str:
    """Return the mark of *row*, worked out by hand for a remark of one owner."""
    message = b'["remark","%s"]' % row.owners[0].encode() + row.data
    mac = hashlib.blake2b(message, digest_size=16, key=row.key).digest()
    return row.id + base64.urlsafe_b64encode(mac).decode().rstrip("=")


@given(payloads)
def test_a_sealed_payload_round_trips(payload: Payload) -> None:
    mark, row = seal(payload)
    assert opened(mark, row, type(payload)) == payload
    assert payload_id(mark) == row.id


def test_a_mark_is_the_id_and_a_mac_over_kind_owners_and_bytes() -> None:
    mark, row = seal(Remark(text="Foggy.", of=("0123456789abcdef",)))
    assert row == PayloadRow(
        version=3,
        slot=1,
        id=base64.urlsafe_b64encode(SeededEntropy("seal").token(12)).decode(),
        key=SeededEntropy("seal").token(28)[12:],
        owners=("0123456789abcdef",),
        data=b'{"text":"Foggy."}',
    )
    assert mark == reseal(row)


def test_a_payload_without_owners_belongs_to_its_event() -> None:
    mark, row = seal(Question(query="Why?"))
    assert row.owners == ("e3",)
    assert opened(mark, row, Question) == Question(query="Why?")


def test_vectors_and_salts_are_stored_as_their_bytes() -> None:
    assert seal(Embedding(packed=b"\x00\xff"))[1].data == b"\x00\xff"
    assert seal(Salt(value=b"\x01\xfe"))[1].data == b"\x01\xfe"


def test_a_mark_is_valid_for_one_kind_of_payload() -> None:
    mark, row = seal(Embedding(packed=b"{}"))
    with pytest.raises(ValueError, match="does not match its MAC"):
        opened(mark, row, Question)


def test_a_field_of_a_newer_release_is_not_skipped() -> None:
    newer = PayloadRow(
        version=3, slot=0, id="A" * 16, key=bytes(16), owners=("b",), data=b'{"text":"","tone":1}'
    )
    with pytest.raises(ForbiddenExtraKeysError):
        opened(reseal(newer), newer, Remark)


def test_every_payload_class_has_a_distinct_kind() -> None:
    def kinds(cls: type) -> set[type[Payload]]:
        return {kind for _, kind in places(cls).of if isinstance(kind, type)}

    used = set().union(*map(kinds, (*get_args(Event), Member, Promotion, StagedVector)))
    assert used == set(KINDS)
    assert len(set(KINDS.values())) == len(KINDS)
    assert kinds(Recorded) == set()
