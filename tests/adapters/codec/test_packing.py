from __future__ import annotations

import binascii
import contextlib
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.adapters.codec.packing import COUNT_MAX, PACKED, Returned, pack, unpack
from mnemic.kernel.events import Answer, AnswerRow, RecallRecorded, RunnerUp
from mnemic.kernel.model.identity import PolicyId
from mnemic.kernel.model.texts import Question
from mnemic.specs.strategies.events import recalls

EMPTY = RecallRecorded(
    asked=Question(),
    vector=None,
    answer=Answer(rows=()),
    digest="",
    policy_id=PolicyId(""),
    recipe="",
    read_version=0,
    read_us=0,
    asked_us=0,
)

wide = st.integers(-1, 2**63 - 2)
wide_answers = st.integers(0, 4).flatmap(
    lambda width: st.builds(
        Answer,
        rows=st.lists(
            st.builds(
                AnswerRow,
                block=wide,
                score=wide,
                signals=st.lists(wide, min_size=width, max_size=width).map(tuple),
                via=wide,
            ),
            max_size=70,
        ).map(tuple),
        runners_up=st.lists(st.builds(RunnerUp, block=wide, score=wide), max_size=70).map(tuple),
    )
)
wide_pairs = st.lists(st.tuples(wide, wide), max_size=70).map(tuple)
signed = st.integers(-(2**63), 2**63 - 1)
wide_fields: dict[str, st.SearchStrategy[Any]] = {
    "answer": wide_answers,
    **dict.fromkeys(("read_version", "read_us", "asked_us"), signed),
    **dict.fromkeys(("staged", "linked", "refreshed"), wide_pairs),
}
wide_recalls = st.fixed_dictionaries(wide_fields).map(lambda by: attrs.evolve(EMPTY, **by))


def numbers(recall: RecallRecorded) -> dict[str, Any]:
    return {name: getattr(recall, name) for name in PACKED}


def raw(packed: str) -> bytes:
    return binascii.a2b_base64(packed + "=" * (-len(packed) % 4))


def repacked(data: bytes | bytearray) -> str:
    return binascii.b2a_base64(data, newline=False).decode().rstrip("=")


@given(recalls())
def test_a_recall_unpacks_to_what_was_packed(recall: RecallRecorded) -> None:
    assert unpack(pack(recall)) == numbers(recall)


@given(wide_recalls)
def test_numbers_of_any_size_and_order_unpack_to_what_was_packed(recall: RecallRecorded) -> None:
    assert unpack(pack(recall)) == numbers(recall)


def to_fold(by_name: dict[str, Any]) -> dict[str, Any]:
    return {**by_name, "answer": Returned(by_name["answer"].blocks)}


@given(wide_recalls)
def test_a_fold_reads_the_same_numbers(recall: RecallRecorded) -> None:
    assert unpack(pack(recall), to_fold=True) == to_fold(numbers(recall))


@given(wide_recalls, st.data())
def test_a_fold_refuses_the_same_changes(recall: RecallRecorded, data: st.DataObject) -> None:
    changed = bytearray(raw(pack(recall)))
    changed[data.draw(st.integers(0, len(changed) - 1))] ^= data.draw(st.integers(1, 255))
    packed = repacked(changed[: data.draw(st.integers(1, len(changed)))])
    try:
        expected = to_fold(unpack(packed))
    except ValueError:
        with pytest.raises(ValueError):  # noqa: PT011 - whatever is found first
            unpack(packed, to_fold=True)
    else:
        assert unpack(packed, to_fold=True) == expected


@given(recalls())
def test_a_packed_recall_needs_no_escaping(recall: RecallRecorded) -> None:
    assert set(pack(recall)) <= set(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    )


@given(recalls(), st.data())
def test_every_truncation_is_detected(recall: RecallRecorded, data: st.DataObject) -> None:
    packed = pack(recall)
    cut = packed[: data.draw(st.integers(0, len(packed) - 1))]
    with pytest.raises(ValueError):  # noqa: PT011 - any message, as long as it is refused
        unpack(cut)


@given(recalls(), st.binary(min_size=1, max_size=4))
def test_every_extension_is_detected(recall: RecallRecorded, more: bytes) -> None:
    with pytest.raises(ValueError, match="do not end where they should"):
        unpack(repacked(raw(pack(recall)) + more))


@given(st.binary(max_size=40))
def test_any_bytes_are_read_or_refused_with_value_error(data: bytes) -> None:
    with contextlib.suppress(ValueError):
        unpack(repacked(data))


@pytest.mark.parametrize("packed", ["*", "A", "AA=A", "ä", "AAAA\nAAAA"])
def test_invalid_base64_is_refused(packed: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - binascii's own words
        unpack(packed)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\xff\xff\xff\x7f" + bytes(10), f"claims 268435455 numbers, more than {COUNT_MAX}"),
        (b"\xff" * 11, "does not end"),
        (bytes(10) + b"\x02", "more signals than it says"),
        (bytes([1, 0, 0, 0, 0, 0, 0, 0, 0, 0]) + b"\x01\x02\x00\x00\x00", "stray bits"),
        (bytes([2, 0, 0, 0, 0, 0, 0, 0, 0, 0]) + b"\x82\x01\x03\x00\x00", "below its floor"),
        (bytes([0, 0, 0, 1, 0, 0, 0, 0, 0, 0]) + b"\x00\x40", "before the first"),
    ],
)
def test_structural_damage_is_named(data: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        unpack(repacked(data))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"answer": Answer(rows=(AnswerRow(-2, 0, ()),))}, "does not fit a column"),
        ({"answer": Answer(rows=(AnswerRow(0, 2**63, ()),))}, "does not fit a column"),
        ({"answer": Answer(rows=(AnswerRow(0, 0, (1,)), AnswerRow(0, 0, ())))}, "zip"),
        ({"read_us": 2**80}, "does not fit a varint"),
        ({"staged": ((1, 2),) * (COUNT_MAX + 1)}, f"more than {COUNT_MAX}"),
    ],
)
def test_impossible_recalls_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pack(attrs.evolve(EMPTY, **changes))
