from __future__ import annotations

import contextlib
import re
from base64 import b64encode
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.adapters.codec import Codec
from mnemic.adapters.system.entropy import SeededEntropy
from mnemic.kernel.errors import FieldRefused, LogCorrupt, StoreTooNew
from mnemic.kernel.events import (
    BlockLearned,
    BlocksPromoted,
    EdgeConnected,
    Promotion,
    Recorded,
    SessionStarted,
)
from mnemic.kernel.model.identity import BlockId, CommandId, SessionId
from mnemic.kernel.model.texts import (
    ERASED,
    AnalysisText,
    BlockText,
    Embedding,
    Remark,
)
from mnemic.kernel.ports import Record
from mnemic.specs.strategies.events import recordeds

A, B = BlockId("a" * 16), BlockId("b" * 16)
LEARNED = BlockLearned(block_id=A, text=BlockText(content="Oil the lamp.", of=(A,)))


def codec() -> Codec:
    return Codec(SeededEntropy("translation"))


def recorded(event: BlockLearned | BlocksPromoted | EdgeConnected | SessionStarted) -> Recorded:
    return Recorded(version=5, active_us=10, recorded_us=20, command_id=CommandId("c"), event=event)


def record(body: bytes, topic: str = "block-learned.1") -> Record:
    return Record(5, topic, body)


# --- there and back ---------------------------------------------------------------------------


@given(recordeds())
def test_every_event_round_trips(event: Recorded) -> None:
    assert codec().decode(*codec().encode(event)) == event


@given(recordeds())
def test_payloads_may_come_in_any_order(event: Recorded) -> None:
    stored, rows = codec().encode(event)
    assert codec().decode(stored, rows[::-1]) == event


@given(recordeds())
def test_a_body_contains_no_text_or_vector_of_the_caller(event: Recorded) -> None:
    body = codec().encode(event)[0].body
    assert "«" not in body.decode()
    assert "»" not in body.decode()
    assert b"secret" not in body
    assert b64encode(b"secret") not in body


@given(recordeds())
def test_references_name_every_payload_by_slot(event: Recorded) -> None:
    stored, rows = codec().encode(event)
    assert codec().references(stored) == tuple((row.slot, row.id) for row in rows)
    assert [row.slot for row in rows] == list(range(len(rows)))
    assert {row.version for row in rows} <= {event.version}


@given(recordeds())
def test_missing_payloads_are_read_as_erased(event: Recorded) -> None:
    stored, rows = codec().encode(event)
    holes = re.findall(r"\bErased\(", repr(codec().decode(stored)))
    assert len(holes) == len(rows)


# --- what the bytes are -------------------------------------------------------------------------


def test_a_body_omits_default_values() -> None:
    stored, _ = codec().encode(recorded(SessionStarted(session_id=SessionId("s"))))
    assert stored == record(b'{"h":10,"t":20,"c":"c","e":{"session_id":"s"}}', "session-started.1")


def test_slots_follow_the_order_of_fields_one_member_after_the_other() -> None:
    promotions = (
        Promotion(
            block_id=A,
            vector=Embedding(packed=b"1", of=(A,)),
            analysis=AnalysisText(summary="2", of=(A,)),
        ),
        Promotion(block_id=B, vector=Embedding(packed=b"3", of=(B,))),
    )
    _, rows = codec().encode(recorded(BlocksPromoted(promotions=promotions)))
    assert [(row.slot, row.owners, row.data) for row in rows] == [
        (0, (A,), b"1"),
        (1, (A,), b'{"summary":"2"}'),
        (2, (B,), b"3"),
    ]


def test_invalid_unicode_is_refused() -> None:
    lone = BlockLearned(block_id=A, text=BlockText(content="\ud800"))
    with pytest.raises(FieldRefused, match=r"block-learned\.1 cannot be stored"):
        codec().encode(recorded(lone))


def test_an_erased_payload_cannot_be_encoded() -> None:
    with pytest.raises(ValueError, match="Erased cannot be sealed"):
        codec().encode(recorded(BlockLearned(block_id=A, text=ERASED)))


def test_a_payload_has_at_most_two_owners() -> None:
    crowded = BlockLearned(block_id=A, text=BlockText(content="ours", of=("x", "y", "z")))
    with pytest.raises(ValueError, match="one or two owners"):
        codec().encode(recorded(crowded))


# --- damage -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xff",
        b"[]",
        b"null",
        b'{"h":10,"t":20,"c":"c"}',
        b'{"h":10,"t":20,"e":{}}',
        b'{"h":10.5,"t":20,"c":"c","e":{"block_id":"a"}}',
        b'{"h":"10","t":20,"c":"c","e":{"block_id":"a"}}',
        b'{"h":10,"t":20,"c":"c","e":[]}',
        b'{"h":10,"t":20,"c":"c","s":7,"e":{}}',
        b'{"h":10,"t":20,"c":"c","e":{}}',
        b'{"h":10,"t":20,"c":"c","e":{"block_id":"a"}}',
        b'{"h":10,"t":20,"c":"c","e":{"block_id":"a","text":null}}',
        b'{"h":10,"t":20,"c":"c","e":{"block_id":"a","text":"short"}}',
        b'{"h":10,"t":20,"c":"c","e":{"block_id":"a","text":["p","m"]}}',
        b'{"h":10,"t":20,"c":"c","e":{"block_id":7,"text":"%s"}}' % (b"A" * 38),
        b'{"h":10,"t":20,"c":"c","e":{"block_id":"a","text":"%s","confidence":true}}' % (b"A" * 38),
        b'{"h":10,"t":20,"c":"c","e":{"block_id":"a","text":"%s","confidence":"1"}}' % (b"A" * 38),
    ],
)
def test_a_damaged_body_is_corrupt_at_its_version(body: bytes) -> None:
    with pytest.raises(LogCorrupt, match=r"event 5 \(block-learned\.1\) cannot be read") as caught:
        codec().decode(record(body))
    assert caught.value.facts == {"version": 5, "topic": "block-learned.1"}


@pytest.mark.parametrize(
    ("topic", "event"),
    [
        ("blocks-promoted.1", b'{"promotions":{}}'),
        ("blocks-promoted.1", b'{"promotions":["x"]}'),
        ("blocks-promoted.1", b'{"promotions":[{"block_id":"a"}]}'),
        ("edge-deferred.1", b'{"source":"a","target":"b","relation":"c","weight":null}'),
        ("curated.1", b'{"pruned":[["a"]]}'),
        ("curated.1", b'{"pruned":["ab"]}'),
        ("curated.1", b'{"reinforced":"ab"}'),
        ("embedder-adopted.1", b'{"embedder":null}'),
        ("recall-recorded.1", b'{"numbers":7}'),
        ("recall-recorded.1", b'{"numbers":"*"}'),
        ("recall-recorded.1", b'{"numbers":"AAAAAAAAAAAAAQA","answer":{}}'),
    ],
)
def test_a_damaged_event_is_corrupt_at_its_version(topic: str, event: bytes) -> None:
    with pytest.raises(LogCorrupt, match="event 5 "):
        codec().decode(record(b'{"h":10,"t":20,"c":"c","e":' + event + b"}", topic))


@given(recordeds(), st.data())
def test_a_changed_byte_is_read_or_refused_as_corrupt(event: Recorded, data: st.DataObject) -> None:
    stored, rows = codec().encode(event)
    body = bytearray(stored.body)
    body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(LogCorrupt, StoreTooNew):
        codec().decode(stored._replace(body=bytes(body)), rows)


@pytest.mark.parametrize(
    "fields",
    [
        {"data": b'{"content":"Oil the lamp?"}'},
        {"key": bytes(16)},
        {"owners": (B,)},
        {"owners": (A, B)},
        {"owners": ()},
        {"id": "A" * 16},
        {"slot": 1},
        {"version": 6},
    ],
)
def test_a_changed_payload_is_corrupt(fields: dict[str, Any]) -> None:
    stored, (row,) = codec().encode(recorded(LEARNED))
    with pytest.raises(LogCorrupt, match="payload") as caught:
        codec().decode(stored, [row._replace(**fields)])
    assert caught.value.facts["version"] == 5


def test_swapped_payloads_are_corrupt() -> None:
    note = Remark(text="first", of=(A, B))
    connected = EdgeConnected(
        source=A, target=B, relation="similar", weight=1, action="created", note=note
    )
    first, (row,) = codec().encode(recorded(connected))
    _, (other,) = Codec(SeededEntropy("another")).encode(recorded(connected))
    with pytest.raises(LogCorrupt, match="does not name these payloads"):
        codec().decode(first, [row, other])


def test_a_payload_for_an_event_that_has_none_is_corrupt() -> None:
    stored, _ = codec().encode(recorded(SessionStarted(session_id=SessionId("s"))))
    _, rows = codec().encode(recorded(LEARNED))
    with pytest.raises(LogCorrupt, match="does not name these payloads"):
        codec().decode(stored, rows)


# --- newer writers ------------------------------------------------------------------------------


@pytest.mark.parametrize("topic", ["block-learned.2", "block-dreamt.1"])
def test_an_unknown_topic_asks_for_a_newer_release(topic: str) -> None:
    with pytest.raises(StoreTooNew, match="which this release does not know") as caught:
        codec().decode(record(b"{}", topic))
    assert caught.value.facts == {"version": 5, "topic": topic}


@pytest.mark.parametrize("topic", ["block-learned", "Block-learned.1", "block-learned.0", ""])
def test_what_is_no_topic_of_any_release_is_corrupt(topic: str) -> None:
    with pytest.raises(LogCorrupt, match="which is no kind of event") as caught:
        codec().decode(record(b"{}", topic))
    assert caught.value.facts == {"version": 5, "topic": topic}


@pytest.mark.parametrize(
    ("topic", "body"),
    [
        ("space-erased.1", b'{"h":10,"t":20,"c":"c","e":{},"z":1}'),
        ("space-erased.1", b'{"h":10,"t":20,"c":"c","e":{"why":"z"}}'),
        (
            "embedder-adopted.1",
            b'{"h":10,"t":20,"c":"c","e":{"embedder":{"name":"n","dimension":1,"z":1}}}',
        ),
    ],
)
def test_an_unknown_field_asks_for_a_newer_release(topic: str, body: bytes) -> None:
    with pytest.raises(StoreTooNew, match="has a field that this release does not know"):
        codec().decode(record(body, topic))
