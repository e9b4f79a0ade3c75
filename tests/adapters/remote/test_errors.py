"""Errors are restored from documents with their class, message and facts."""

from __future__ import annotations

import json

import pytest

from mnemic.adapters.remote import transport_errors
from mnemic.adapters.remote.errors import (
    document_of,
    error_of,
    known,
    status_of,
)
from mnemic.kernel import errors
from mnemic.kernel.errors import FieldRefused, MnemicError

CLASSES = sorted(known().values(), key=lambda each: each.code)


@pytest.mark.parametrize("error", CLASSES, ids=lambda each: each.code)
def test_every_error_is_restored_with_its_class(error: type[MnemicError]) -> None:
    raised = error("it was 'this'", field="x", limits=[1, 2])
    back = error_of(json.loads(json.dumps(document_of(raised))))
    assert (type(back), back.to_dict(), status_of(back)) == (
        error,
        raised.to_dict(),
        error.status,
    )


def test_no_two_errors_share_a_code() -> None:
    every = [each for module in (errors, transport_errors) for each in vars(module).values()]
    classes = {each for each in every if isinstance(each, type) and issubclass(each, MnemicError)}
    assert {known()[each.code] for each in classes} == classes


def test_an_error_of_a_newer_server_keeps_its_code() -> None:
    back = error_of({"code": "too-modern", "detail": "d", "recovery": "r", "since": "9.0"})
    assert (type(back), back.to_dict()) == (
        MnemicError,
        {"code": "too-modern", "detail": "d", "recovery": "r", "since": "9.0"},
    )


def test_restoring_an_unknown_code_does_not_change_other_errors() -> None:
    error_of({"code": "too-modern", "detail": "d", "recovery": "r"})
    assert MnemicError.code == "error"


def test_facts_are_converted_for_json() -> None:
    refused = FieldRefused("no", field=("a", b"b"), names={"x"}, by={1: FieldRefused})
    assert json.loads(json.dumps(document_of(refused))) == {
        "code": "field-refused",
        "detail": "no",
        "recovery": "Correct the named field and repeat the command.",
        "field": ["a", "b'b'"],
        "names": ["x"],
        "by": {"1": "<class 'mnemic.kernel.errors.FieldRefused'>"},
    }


def test_a_bug_reveals_nothing() -> None:
    found = document_of(RuntimeError("the words of a memory"))
    assert (found["code"], "memory" in str(found), status_of(RuntimeError())) == (
        "internal",
        False,
        500,
    )
