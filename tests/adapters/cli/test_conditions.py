"""key=value, as filters and metadata; filters in JSON."""

from __future__ import annotations

from typing import Any

import pytest

from mnemic.adapters.cli.invocation.conditions import conditions, metadata
from mnemic.kernel.errors import FieldRefused


@pytest.mark.parametrize(
    ("given", "where"),
    [
        ([], {}),
        (["tags=a", "tags=b"], {"tags": ["a", "b"]}),
        (["author=Ines", "since=2026-04-01"], {"author": ["Ines"], "since": "2026-04-01"}),
        (["metadata.turn=D1:3", "metadata.n=3"], {"metadata": {"turn": "D1:3", "n": 3}}),
        (["thread=a=b"], {"thread": ["a=b"]}),
        (["colour=red"], {"colour": "red"}),
        (["user=ines", "user=otto"], {"user": ["ines", "otto"]}),
        ([' {"not": {"tags": ["a"]}}'], {"not": {"tags": ["a"]}}),
        (['{"tags": "a"}', '{"tags": "b"}'], {"all": [{"tags": "a"}, {"tags": "b"}]}),
        (['{"key": "k"}', "tags=a"], {"all": [{"tags": ["a"]}, {"key": "k"}]}),
    ],
)
def test_conditions_spell_a_filter(given: list[str], where: dict[str, Any]) -> None:
    assert conditions(given) == where


@pytest.mark.parametrize("given", [["tags"], ["=x"], ["since=1", "since=2"]])
def test_an_invalid_condition_is_refused(given: list[str]) -> None:
    with pytest.raises(FieldRefused):
        conditions(given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ('{"tags": ', "Expecting value"),
        ('{"tags": "a", "tags": "b"}', "'tags' is given twice"),
        ('{"range": {"confidence": {"from": NaN}}}', "NaN is no number"),
    ],
)
def test_a_filter_that_is_no_json_is_refused_with_the_reason(given: str, message: str) -> None:
    with pytest.raises(FieldRefused, match=f"^where is not valid JSON: {message}"):
        conditions([given])


def test_metadata_takes_numbers_truth_and_text_but_no_structure() -> None:
    assert metadata(["n=3", "ok=true", "none=null", 'quoted="3"', "list=[1]", "word=word"]) == {
        "n": 3,
        "ok": True,
        "none": None,
        "quoted": "3",
        "list": "[1]",
        "word": "word",
    }


def test_no_metadata_is_none() -> None:
    assert metadata([]) is None
