from __future__ import annotations

import json
from typing import Any

import pytest

from mnemic.adapters.client.requests import Request, request_of
from mnemic.adapters.remote.calls import Call
from mnemic.kernel.errors import FieldRefused

BLOCKS = "/v1/spaces/default/blocks"


def sent(operation: str, **given: Any) -> Request:
    return request_of(Call(operation=operation, **given), space="default")


def test_arguments_outside_the_path_are_in_the_body() -> None:
    request = sent("revise", arguments={"block_id": "b1", "content": "new", "reason": None})
    assert (request.method, request.target) == ("POST", f"{BLOCKS}/b1/revise")
    assert isinstance(request.body, bytes)
    assert json.loads(request.body) == {"content": "new", "reason": None}


def test_questions_are_asked_in_the_query() -> None:
    asked = {"tag": "a b&c", "limit": 3, "author": None, "after": 0}
    request = sent("blocks", arguments=asked, as_of="version:3", now="2026-01-01")
    assert (
        request.target == f"{BLOCKS}?as_of=version%3A3&now=2026-01-01&tag=a+b%26c&limit=3&after=0"
    )
    assert request.body is None


def test_a_list_in_a_query_is_repeated_per_item() -> None:
    request = sent("frontier", arguments={"tags": ("a", "b"), "size": 3})
    assert request.target == "/v1/spaces/default/frontier?tags=a&tags=b&size=3"


def test_none_is_sent_where_omitting_it_would_differ() -> None:
    assert sent("blocks", arguments={"limit": None}).target == f"{BLOCKS}?limit=null"


@pytest.mark.parametrize(
    ("name", "encoded"),
    [("a/b", "a%2Fb"), ("..", "%2E%2E"), (".", "%2E"), ("a.b", "a.b"), ("ü %", "%C3%BC%20%25")],
)
def test_any_name_is_one_path_segment(name: str, encoded: str) -> None:
    assert sent("block", arguments={"block_id": name}).target == f"{BLOCKS}/{encoded}"
    request = request_of(Call(operation="status"), space=name)
    assert request.target == f"/v1/spaces/{encoded}"


def test_only_idempotent_requests_are_repeated() -> None:
    again = {
        "status": sent("status"),
        "learn": sent("learn", arguments={"content": "x"}),
        "learn by id": sent("learn", arguments={"content": "x"}, command_id="c1"),
        "recall of the past": sent("recall", as_of="version:3"),
        "reembed": sent("reembed", arguments={"embedder": "bundled"}),
        "checkpoint": sent("checkpoint"),
    }
    assert {name: request.again for name, request in again.items()} == {
        "status": True,
        "learn": False,
        "learn by id": True,
        "recall of the past": True,
        "reembed": False,
        "checkpoint": False,
    }


def test_long_operations_request_a_stream() -> None:
    assert sent("consolidate").headers["Accept"] == "text/event-stream"
    assert sent("status").headers["Accept"] == "application/json"


def test_a_command_id_goes_in_its_header_and_keeps_its_quotes() -> None:
    plain, quoted = (sent("curate", command_id=key) for key in ("c 1", '"c"'))
    assert plain.headers["Idempotency-Key"] == "c 1"
    assert quoted.headers["Idempotency-Key"] == '""c""'


@pytest.mark.parametrize("key", ["", " c", "c\n", "ç", "c\0", 7])
def test_a_command_id_unfit_for_a_header_is_refused(key: Any) -> None:
    with pytest.raises(FieldRefused) as refused:
        sent("curate", command_id=key)
    assert refused.value.facts == {"field": "command_id"}


@pytest.mark.parametrize(
    ("operation", "name", "value"),
    [
        ("learn", "confidence", float("nan")),
        ("learn", "metadata", {"a": [float("inf")]}),
        ("learn", "metadata", {"a": object()}),
        ("learn", "metadata", {1: "a"}),
        ("learn", "content", "\ud800"),
        ("learn", "content", 2**64),
        ("blocks", "tag", "\ud800"),
        ("blocks", "limit", float("nan")),
        ("block", "block_id", ""),
        ("block", "block_id", "\ud800"),
    ],
)
def test_an_unsendable_argument_is_refused_by_name(operation: str, name: str, value: Any) -> None:
    with pytest.raises(FieldRefused) as refused:
        sent(operation, arguments={name: value})
    assert refused.value.facts == {"field": name}
    assert refused.value.recovery
