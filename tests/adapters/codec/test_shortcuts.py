"""The fast path and the thorough one read the same, from records sound, odd and damaged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.adapters.codec import Codec
from mnemic.adapters.codec.fast_decoding import Shortcuts
from mnemic.adapters.codec.packing import Returned
from mnemic.adapters.codec.registry import Registry
from mnemic.adapters.system.entropy import SeededEntropy
from mnemic.kernel.errors import MnemicError
from mnemic.kernel.events import Recorded
from mnemic.kernel.ports import PayloadRow, Record
from mnemic.projections.state.apply import TRANSIENT
from mnemic.specs.strategies.events import recordeds

CODEC = Codec(SeededEntropy("shortcuts"), transient=TRANSIENT)
SHORTCUTS = Shortcuts(Registry())
FOLD_SHORTCUTS = Shortcuts(Registry(), transient=TRANSIENT)
ODDITIES: tuple[Any, ...] = (None, True, 0, -1, 1.5, 2**63, "", "x", [], [None], ["x", "y"], {})


def told(record: Record, rows: Sequence[PayloadRow]) -> object:
    """Return the result of ``decode``, or its refusal."""
    try:
        return CODEC.decode(record, rows)
    except MnemicError as error:
        return type(error), error.message, error.facts


def told_thoroughly(record: Record, rows: Sequence[PayloadRow]) -> object:
    try:
        return CODEC.decode_thoroughly(record, rows)
    except MnemicError as error:
        return type(error), error.message, error.facts


@given(recordeds())
def test_events_of_this_release_take_the_fast_path(event: Recorded) -> None:
    record, rows = CODEC.encode(event)
    assert SHORTCUTS[record.topic](record, rows) == event


@given(recordeds())
def test_an_event_without_its_payloads_takes_the_fast_path(event: Recorded) -> None:
    record, _ = CODEC.encode(event)
    assert SHORTCUTS[record.topic](record, ()) == CODEC.decode_thoroughly(record)


def as_value(found: Any, like: Any) -> Any:
    """Return *found* as a value of the class of *like*, which has the same attributes."""
    if isinstance(found, Returned):
        return like if found.blocks == like.blocks else found
    if isinstance(like, tuple) and isinstance(found, tuple):
        return tuple(map(as_value, found, like)) if len(found) == len(like) else found
    if not attrs.has(type(like)):
        return found
    names = [each.name for each in attrs.fields(type(like))]
    return type(like)(
        **{name: as_value(getattr(found, name), getattr(like, name)) for name in names}
    )


@given(recordeds())
def test_a_fold_reads_the_same_attributes(event: Recorded) -> None:
    record, rows = CODEC.encode(event)
    assert (as_value(FOLD_SHORTCUTS[record.topic](record, rows), event)) == event
    _, missing = CODEC.decode_noting(record, ())
    if missing:
        with pytest.raises(StopIteration):
            FOLD_SHORTCUTS[record.topic](record, ())
    else:
        assert FOLD_SHORTCUTS[record.topic](record, ()).kind is event.kind


@given(recordeds(), st.data())
def test_partial_or_unordered_payloads_are_read_alike(event: Recorded, data: st.DataObject) -> None:
    record, rows = CODEC.encode(event)
    some = data.draw(st.lists(st.sampled_from(rows)) if rows else st.just([]))
    assert told(record, some) == told_thoroughly(record, some)


def changes(row: PayloadRow, rows: Sequence[PayloadRow]) -> list[PayloadRow]:
    """Return rows that may replace *row*, one of *rows*."""
    text: Any = "text"
    return [
        row._replace(version=row.version + 1),
        row._replace(slot=len(rows)),
        row._replace(id=rows[0].id),
        row._replace(id=row.id + "A"),
        row._replace(key=bytes(16)),
        row._replace(key=text),
        row._replace(owners=()),
        row._replace(owners=("a" * 16, "b" * 16)),
        row._replace(data=b""),
        row._replace(data=text),
    ]


@given(recordeds(), st.data())
def test_a_changed_payload_is_read_alike(event: Recorded, data: st.DataObject) -> None:
    record, rows = CODEC.encode(event)
    if rows:
        bad = data.draw(st.integers(0, len(rows) - 1))
        changed = data.draw(st.sampled_from(changes(rows[bad], rows)))
        rows = (*rows[:bad], changed, *rows[bad + 1 :])
    assert told(record, rows) == told_thoroughly(record, rows)


@given(recordeds(), st.data())
def test_a_changed_byte_is_read_alike(event: Recorded, data: st.DataObject) -> None:
    record, rows = CODEC.encode(event)
    body = bytearray(record.body)
    body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    changed = record._replace(body=bytes(body))
    assert told(changed, rows) == told_thoroughly(changed, rows)


def odd(value: Any, data: st.DataObject) -> Any:
    """Return *value* with one value in it, at any depth, replaced, removed or added."""
    if isinstance(value, dict) and data.draw(st.booleans()):
        keys = sorted(value)
        match data.draw(st.sampled_from(["inside", "gone", "more"] if keys else ["more"])):
            case "inside":
                key = data.draw(st.sampled_from(keys))
                return {**value, key: odd(value[key], data)}
            case "gone":
                key = data.draw(st.sampled_from(keys))
                return {name: each for name, each in value.items() if name != key}
            case _:
                name = data.draw(st.sampled_from(["", "a", "of", "note", "answer", "read_us"]))
                return {**value, name: data.draw(st.sampled_from(ODDITIES))}
    if isinstance(value, list) and value and data.draw(st.booleans()):
        at = data.draw(st.integers(0, len(value) - 1))
        return [*value[:at], odd(value[at], data), *value[at + 1 :]]
    return data.draw(st.sampled_from(ODDITIES))


@given(recordeds(), st.data())
def test_an_odd_value_is_read_alike(event: Recorded, data: st.DataObject) -> None:
    record, rows = CODEC.encode(event)
    changed = record._replace(body=orjson.dumps(odd(orjson.loads(record.body), data)))
    assert told(changed, rows) == told_thoroughly(changed, rows)


@pytest.mark.parametrize(
    "body",
    [
        b'{"h":1,"t":2,"c":"x","s":null,"e":{}}',
        b'{"h":1,"t":2,"c":"x","a":null,"e":{}}',
        b'{"h":true,"t":2,"c":"x","e":{}}',
        b'{"h":1,"t":2,"c":7,"e":{}}',
        b'{"h":1,"t":2,"c":"x","e":[]}',
        b'{"h":1,"t":2,"c":"x","e":{},"z":0}',
        b"[1]",
    ],
)
def test_an_odd_envelope_is_refused_with_the_same_message(body: bytes) -> None:
    record = Record(3, "space-erased.1", body)
    found = told(record, ())
    assert isinstance(found, tuple)
    assert found == told_thoroughly(record, ())
