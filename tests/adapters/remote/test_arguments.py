"""From a document to a call: missing, unknown and invalid arguments are refused by name."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.adapters.remote.calls import Call
from mnemic.adapters.remote.documents import (
    arguments_of,
    document_of,
    policy_of,
    restored,
    spoken,
)
from mnemic.adapters.remote.operations import operations
from mnemic.kernel.errors import FieldRefused, MnemicError, PolicyRefused
from mnemic.kernel.policy import DEFAULT, Policy
from mnemic.kernel.results import ForgetResult
from tests.adapters.remote.strictness import arguments_validator


def refusal(operation: str, document: dict[str, Any], *, past: bool = False) -> dict[str, Any]:
    """Return the refusal of a document."""
    with pytest.raises(MnemicError) as caught:
        arguments_of(operations()[operation], document, past=past)
    return caught.value.to_dict()


def test_an_unknown_argument_is_refused() -> None:
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
        "recovery": "It takes: query, frame, top_k, token_budget, where, scope, "
        "asked_by, min_probability, suggest, detail.",
        "field": "record",
    }


def test_a_missing_argument_is_named() -> None:
    assert refusal("forget", {"reason": "old"}) == {
        "code": "field-refused",
        "detail": "forget needs block_id",
        "recovery": "Give block_id.",
        "field": "block_id",
    }


@pytest.mark.parametrize("value", ["yes", 1, None, [], {}])
def test_a_boolean_argument_must_be_true_or_false(value: object) -> None:
    assert refusal("recall", {"record": value}) == {
        "code": "field-refused",
        "detail": f"record must be true or false, got {value!r}",
        "recovery": "Correct the named field and repeat the command.",
        "field": "record",
    }


def test_remote_callers_cannot_name_files() -> None:
    assert refusal("export", {"path": "/etc/passwd"})["field"] == "path"
    assert refusal("fork", {"space": "x", "into": "/etc/passwd"})["field"] == "into"


def test_composed_graph_takes_whatever_its_clients_send() -> None:
    document = {"action": "recent", "client": "an old one"}
    assert arguments_of(operations()["composed_graph"], document) == document


def test_a_policy_is_made_of_the_fields_that_are_given() -> None:
    assert arguments_of(operations()["adopt_policy"], {"policy": {"name": "mine", "top_k": 3}}) == {
        "policy": Policy(name="mine", top_k=3)
    }


def test_policies_by_name_are_converted_too() -> None:
    document = {"policies": {"few": {"top_k": 3}, "usual": {}}}
    assert arguments_of(operations()["backtest"], document) == {
        "policies": {"few": Policy(top_k=3), "usual": Policy()}
    }


@pytest.mark.parametrize("body", [[], "x", None, 1, {"mood": 1}, {"top_k": -1}])
def test_an_invalid_policy_is_refused(body: object) -> None:
    with pytest.raises(PolicyRefused):
        policy_of(body)


def test_a_missing_policy_stays_missing() -> None:
    document = {"decision_id": "d1", "policy": None}
    assert arguments_of(operations()["what_if"], document) == document


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


def test_fields_left_out_of_a_policy_have_their_defaults() -> None:
    assert policy_of({"name": "new"}) == Policy(name="new")


def test_a_document_is_always_an_object() -> None:
    assert document_of(((1, 2), (3, 4))) == {"items": [[1, 2], [3, 4]]}
    with pytest.raises(TypeError, match="str is not the result of an operation"):
        document_of("words")


def test_an_unknown_operation_is_refused() -> None:
    with pytest.raises(FieldRefused, match="no operation is called 'sing'"):
        _ = Call(operation="sing").spec


@pytest.mark.parametrize(
    ("call", "scope"),
    [
        (Call(operation="recall"), "write"),
        (Call(operation="recall", arguments={"record": False}), "read"),
        (Call(operation="recall", as_of="hour:1"), "read"),
        (Call(operation="deep_reference", arguments={"record": False}), "read"),
        (Call(operation="composed_graph", arguments={"action": "recent"}), "read"),
        (Call(operation="composed_graph", arguments={"action": "label"}), "write"),
        (Call(operation="erase"), "admin"),
        (Call(operation="status"), "read"),
    ],
    ids=str,
)
def test_the_required_scope_depends_on_the_call(call: Call, scope: str) -> None:
    assert call.scope == scope


@pytest.mark.parametrize("operation", sorted(operations()))
def test_refused_arguments_violate_the_schema_too(operation: str) -> None:
    check = arguments_validator(operation)
    needed = [name for name, each in operations()[operation].parameters.items() if each.required]
    assert check.is_valid({"no such": 1}) is (operations()[operation].lenient and not needed)
    assert check.is_valid({}) is (not needed)
