"""Items of a batch are refused in words about them, never in those of Python."""

from __future__ import annotations

import pytest

from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.inprocess.items import item
from mnemic.kernel.decisions.connecting import Assertion
from mnemic.kernel.errors import FieldRefused

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
def test_what_is_no_item_is_told_what_is_wrong_with_it(given: object, detail: str) -> None:
    with pytest.raises(FieldRefused) as refusal:
        item(Assertion, given, "an edge")
    assert (refusal.value.message, refusal.value.recovery) == (detail, FIELDS)


def test_an_item_is_the_value_with_its_fields() -> None:
    given = {"source": "a", "target": "b", "weight": 0.5}
    assert item(Assertion, given, "an edge") == Assertion(source="a", target="b", weight=0.5)


def test_a_lesson_with_a_misspelt_field_is_told_which() -> None:
    with SyncMemory.open(":memory:") as memory:
        answer = memory.learn_many([{"contents": "the gate is shut"}, {"tags": ["gate"]}])
    assert [each.detail for each in answer.refused] == [
        "a lesson has no field 'contents'",
        "a lesson needs content",
    ]
