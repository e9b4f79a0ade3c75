"""Refusals of batch items describe the item, not a Python error."""

from __future__ import annotations

import pytest

from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.inprocess.batch_items import batch_item
from mnemic.kernel.decisions.connecting import Assertion
from mnemic.kernel.errors import BatchRefused, FieldRefused

FIELDS = "Its fields: source, target, relation, weight, note, if_exists."


@pytest.mark.parametrize(
    ("given", "detail"),
    [
        (7, "not an edge: 7"),
        ("abc", "not an edge: 'abc'"),
        ({"source": "a", "goal": "b"}, "an edge has no field 'goal'"),
        ({"source": "a", 3: "b"}, "an edge has no field 3"),
        ({"source": "a"}, "an edge needs target"),
    ],
)
def test_an_invalid_item_is_refused_with_the_reason(given: object, detail: str) -> None:
    with pytest.raises(FieldRefused) as refusal:
        batch_item(Assertion, given, "an edge")
    assert (refusal.value.message, refusal.value.recovery) == (detail, FIELDS)


def test_an_item_becomes_a_value_with_its_fields() -> None:
    given = {"source": "a", "target": "b", "weight": 0.5}
    assert batch_item(Assertion, given, "an edge") == Assertion(source="a", target="b", weight=0.5)


def test_a_misspelt_field_of_a_lesson_is_named() -> None:
    with SyncMemory.open(":memory:") as memory, pytest.raises(BatchRefused) as refused:
        memory.learn_many([{"contents": "the gate is shut"}, {"tags": ["gate"]}])
    assert refused.value.message == (
        "all 2 lessons were refused: #0 field-refused: a lesson has no field 'contents'; "
        "#1 field-refused: a lesson needs content"
    )
    assert refused.value.recovery.startswith("Its fields: content, tags")


def test_a_summary_names_the_first_refusals() -> None:
    with SyncMemory.open(":memory:") as memory:
        answer = memory.learn_many(["the gate is shut", *({"text": str(n)} for n in range(5))])
    assert answer.summary == (
        "Learned: 1 created, 5 refused (#1 field-refused: a lesson has no field 'text'; "
        "#2 field-refused: a lesson has no field 'text'; "
        "#3 field-refused: a lesson has no field 'text'; and 2 more)."
    )
