"""From a document to a call: what is missing, unknown or of another kind is refused by name."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.adapters.wire.calls import Call
from mnemic.adapters.wire.documents import (
    arguments_of,
    document_of,
    policy_of,
    restored,
    spoken,
)
from mnemic.adapters.wire.verbs import verbs
from mnemic.kernel.errors import FieldRefused, MnemicError, PolicyRefused
from mnemic.kernel.policy import DEFAULT, Policy
from mnemic.kernel.results import ForgetResult
from tests.adapters.wire.strictness import arguments_validator


def refusal(verb: str, document: dict[str, Any], *, past: bool = False) -> dict[str, Any]:
    """Return how a document is refused."""
    with pytest.raises(MnemicError) as caught:
        arguments_of(verbs()[verb], document, past=past)
    return caught.value.to_dict()


def test_an_argument_that_no_verb_knows_is_refused() -> None:
    assert refusal("forget", {"block_id": "x", "why": "y"}) == {
        "code": "field-refused",
        "detail": "forget knows no argument 'why'",
        "recovery": "It takes: block_id, reason.",
        "field": "why",
    }


def test_a_view_of_the_past_takes_less() -> None:
    assert refusal("recall", {"record": False}, past=True) == {
        "code": "field-refused",
        "detail": "recall of a view of the past knows no argument 'record'",
        "recovery": "It takes: query, frame, top_k, token_budget, where, suggest.",
        "field": "record",
    }


def test_what_cannot_be_left_out_is_asked_for() -> None:
    assert refusal("forget", {"reason": "old"}) == {
        "code": "field-refused",
        "detail": "forget needs block_id",
        "recovery": "Give block_id.",
        "field": "block_id",
    }


@pytest.mark.parametrize("value", ["yes", 1, None, [], {}])
def test_what_is_true_or_false_is_nothing_else(value: object) -> None:
    assert refusal("recall", {"record": value}) == {
        "code": "field-refused",
        "detail": f"record must be true or false, got {value!r}",
        "recovery": "Correct the named field and repeat the command.",
        "field": "record",
    }


def test_nobody_names_a_file_of_the_server() -> None:
    assert refusal("export", {"path": "/etc/passwd"})["field"] == "path"
    assert refusal("fork", {"space": "x", "into": "/etc/passwd"})["field"] == "into"


def test_composed_graph_takes_whatever_its_clients_send() -> None:
    document = {"action": "recent", "client": "an old one"}
    assert arguments_of(verbs()["composed_graph"], document) == document


def test_a_policy_is_made_of_the_fields_that_are_given() -> None:
    assert arguments_of(verbs()["adopt_policy"], {"policy": {"name": "mine", "top_k": 3}}) == {
        "policy": Policy(name="mine", top_k=3)
    }


def test_policies_by_name_are_made_too() -> None:
    document = {"policies": {"few": {"top_k": 3}, "usual": {}}}
    assert arguments_of(verbs()["backtest"], document) == {
        "policies": {"few": Policy(top_k=3), "usual": Policy()}
    }


@pytest.mark.parametrize("body", [[], "x", None, 1, {"mood": 1}, {"top_k": -1}])
def test_what_is_no_policy_is_refused(body: object) -> None:
    with pytest.raises(PolicyRefused):
        policy_of(body)


def test_a_policy_that_is_not_there_stays_away() -> None:
    document = {"decision_id": "d1", "policy": None}
    assert arguments_of(verbs()["what_if"], document) == document


def test_arguments_of_python_can_be_written_down() -> None:
    said = {
        "policy": DEFAULT,
        "at": datetime(2026, 3, 1, tzinfo=UTC),
        "tags": frozenset({"a"}),
        "result": ForgetResult(block_id="x", action="archived"),  # type: ignore[arg-type]
        "where": {"tags": ("a",), "n": 1, "none": None},
    }
    assert spoken(said) == {
        "policy": document_of(DEFAULT),
        "at": "2026-03-01T00:00:00+00:00",
        "tags": ["a"],
        "result": {"block_id": "x", "action": "archived"},
        "where": {"tags": ["a"], "n": 1, "none": None},
    }


@given(policy=st.builds(Policy, name=st.sampled_from("ab"), top_k=st.integers(0, 99)))
def test_a_policy_comes_back_from_its_document(policy: Policy) -> None:
    assert policy_of(spoken(policy)) == policy


def test_a_policy_of_an_earlier_release_means_what_it_meant_there_and_back() -> None:
    old = Policy.parse('{"name":"old","top_k":3}')
    assert policy_of(spoken(old)) == old
    assert restored(Policy, document_of(old)) == old


def test_what_a_caller_leaves_out_of_a_policy_is_as_it_is_by_default() -> None:
    assert policy_of({"name": "new"}) == Policy(name="new")


def test_a_document_is_always_an_object() -> None:
    assert document_of(((1, 2), (3, 4))) == {"items": [[1, 2], [3, 4]]}
    with pytest.raises(TypeError, match="str is no answer of a verb"):
        document_of("words")


def test_a_verb_that_there_is_not_is_refused() -> None:
    with pytest.raises(FieldRefused, match="no verb is called 'sing'"):
        _ = Call(verb="sing").spec


@pytest.mark.parametrize(
    ("call", "scope"),
    [
        (Call(verb="recall"), "write"),
        (Call(verb="recall", arguments={"record": False}), "read"),
        (Call(verb="recall", as_of="hour:1"), "read"),
        (Call(verb="deep_reference", arguments={"record": False}), "read"),
        (Call(verb="composed_graph", arguments={"action": "recent"}), "read"),
        (Call(verb="composed_graph", arguments={"action": "label"}), "write"),
        (Call(verb="erase"), "admin"),
        (Call(verb="status"), "read"),
    ],
    ids=str,
)
def test_what_is_called_decides_what_one_has_to_be_allowed(call: Call, scope: str) -> None:
    assert call.scope == scope


@pytest.mark.parametrize("verb", sorted(verbs()))
def test_what_is_refused_as_unknown_or_missing_is_against_the_schema_too(verb: str) -> None:
    check = arguments_validator(verb)
    needed = [name for name, each in verbs()[verb].parameters.items() if each.required]
    assert check.is_valid({"no such": 1}) is (verbs()[verb].lenient and not needed)
    assert check.is_valid({}) is (not needed)
