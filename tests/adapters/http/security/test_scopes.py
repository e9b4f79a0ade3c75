"""Permissions of callers, and the secrecy of spaces that they may not see."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from mnemic.adapters.http.application import ELSEWHERE
from mnemic.adapters.http.routing.routes import routes
from mnemic.adapters.remote.calls import Call
from tests.adapters.http.interfaces import NOTES, Interface
from tests.adapters.http.operation_walk import WALK, Step

ASKED = {"x-request-id": "asked"}
IDS: dict[str, str] = dict.fromkeys(
    ("one", "two", "gone", "doomed", "decision", "composition", "label", "receipt"),
    "0123456789abcdef",
)
STEPS = [step for step in WALK if routes()[step.operation].of_space]
WRITING = [
    step
    for step in STEPS
    if Call(operation=step.operation, arguments=step.arguments).scope != "read"
]
RULING = [step for step in STEPS if routes()[step.operation].operation.scope == "admin"]


def asked(opened: Interface, step: Step, *, by: str | None, space: str = "notes") -> httpx.Response:
    """Perform a step as a caller, in a space."""
    method, path, body = step.request(IDS, space=space)
    return opened.ask(method, path, by=by, json=body, headers=ASKED)


def refused(answer: httpx.Response) -> Any:
    """Return the status and the code of a problem."""
    return answer.status_code, answer.json()["code"]


@pytest.mark.parametrize("step", WRITING, ids=lambda step: step.operation)
def test_a_reader_writes_nothing(refusing: Interface, step: Step) -> None:
    answer = asked(refusing, step, by="reader")
    assert refused(answer) == (403, "forbidden")
    assert refusing.ask("GET", NOTES).headers["mnemic-version"] == "1"


def test_a_reader_gets_the_advice_to_turn_off_recording(refusing: Interface) -> None:
    result = {
        step.operation
        for step in WRITING
        if "record=false" in asked(refusing, step, by="reader").json()["recovery"]
    }
    assert result == {"recall", "deep_reference"}


@pytest.mark.parametrize("step", RULING, ids=lambda step: step.operation)
def test_a_writer_changes_no_rules(refusing: Interface, step: Step) -> None:
    assert refused(asked(refusing, step, by="writer")) == (403, "forbidden")


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.operation)
def test_requests_without_a_token_are_refused(refusing: Interface, step: Step) -> None:
    answer = asked(refusing, step, by=None)
    assert refused(answer) == (401, "unauthenticated")
    assert answer.headers["www-authenticate"].startswith("Bearer ")


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.operation)
def test_a_space_of_others_answers_like_a_missing_one(refusing: Interface, step: Step) -> None:
    """The responses are equal byte for byte, except for the name."""
    hidden = asked(refusing, step, by="ines", space="other")
    absent = asked(refusing, step, by="ines", space="ghost")
    assert refused(absent) == (404, "space-not-found")
    assert hidden.status_code == absent.status_code
    assert hidden.content == absent.content.replace(b"ghost", b"other")
    assert hidden.headers == absent.headers


@pytest.mark.parametrize("method", ["GET", "HEAD", "DELETE", "PUT"])
def test_a_space_of_others_is_hidden_from_every_method(refusing: Interface, method: str) -> None:
    hidden = refusing.ask(method, "/v1/spaces/other", headers=ASKED)
    absent = refusing.ask(method, "/v1/spaces/ghost", headers=ASKED)
    assert hidden.status_code == absent.status_code == 404
    assert hidden.content == absent.content.replace(b"ghost", b"other")


@pytest.mark.parametrize(
    "headers", [{"if-match": '"0"'}, {"mnemic-session": "1"}, {"accept": "*/*"}]
)
def test_no_header_reveals_a_space_of_others(refusing: Interface, headers: dict[str, str]) -> None:
    hidden = refusing.ask("GET", "/v1/spaces/other", headers=headers | ASKED)
    absent = refusing.ask("GET", "/v1/spaces/ghost", headers=headers | ASKED)
    assert hidden.content == absent.content.replace(b"ghost", b"other")


def test_an_invalid_body_reveals_no_space(refusing: Interface) -> None:
    hidden = refusing.ask("POST", "/v1/spaces/other/blocks", content=b"{", headers=ASKED)
    absent = refusing.ask("POST", "/v1/spaces/ghost/blocks", content=b"{", headers=ASKED)
    assert hidden.content == absent.content.replace(b"ghost", b"other")


def test_a_fork_needs_a_token_for_both_spaces(refusing: Interface) -> None:
    taken = refusing.ask("POST", f"{NOTES}/fork", json={"space": "other"}, headers=ASKED)
    free = refusing.ask("POST", f"{NOTES}/fork", json={"space": "ghost"}, headers=ASKED)
    assert refused(taken) == refused(free) == (404, "space-not-found")
    assert taken.content == free.content.replace(b"ghost", b"other")


@pytest.mark.parametrize("space", [" other", "other ", "\tother\n"])
def test_white_space_does_not_bypass_the_scope_of_a_fork(refusing: Interface, space: str) -> None:
    answer = refusing.ask("POST", f"{NOTES}/fork", json={"space": space})
    assert (answer.status_code, answer.json()["space"]) == (404, "other")


@pytest.mark.parametrize("space", [None, 7, ["other"]])
def test_a_fork_to_an_invalid_name_is_refused(refusing: Interface, space: object) -> None:
    answer = refusing.ask("POST", f"{NOTES}/fork", json={"space": space})
    assert (answer.status_code, answer.json()["field"]) == (422, "space")


def test_a_reader_recalls_without_recording(opened: Interface) -> None:
    opened.learn("Ines moved the demo.")
    opened.ask("POST", f"{NOTES}/consolidate")
    question = {"query": "demo", "record": False}
    answer = opened.ask("POST", f"{NOTES}/recall", by="reader", json=question)
    assert [block["content"] for block in answer.json()["blocks"]] == ["Ines moved the demo."]
    assert opened.ask("GET", NOTES).json()["decisions"] == 0


def test_a_reader_recalls_the_past(opened: Interface) -> None:
    opened.learn("Ines moved the demo.")
    answer = opened.ask(
        "POST", f"{NOTES}/recall?as_of=version:2", by="reader", json={"query": "demo"}
    )
    assert answer.status_code == 200


def test_a_revoked_token_is_invalid_at_once(opened: Interface) -> None:
    token = next(each for each in opened.keyring.list() if each.name == "reader")
    assert opened.ask("GET", NOTES, by="reader").status_code == 200
    opened.keyring.revoke(token.id)
    assert refused(opened.ask("GET", NOTES, by="reader")) == (401, "unauthenticated")


def test_the_log_names_the_token(opened: Interface) -> None:
    opened.learn("Ines moved the demo.", by="writer")
    log = opened.ask("GET", f"{NOTES}/log?after=1").json()["items"]
    assert [entry["actor"] for entry in log] == ["writer"]


@pytest.mark.parametrize(
    ("by", "seen"),
    [
        ("reader", [{"space": "notes", "scope": "read"}]),
        ("stranger", [{"space": "other", "scope": "admin"}]),
        ("root", [{"space": "notes", "scope": "admin"}, {"space": "other", "scope": "admin"}]),
    ],
)
def test_the_list_of_spaces_holds_the_visible_ones(
    refusing: Interface, by: str, seen: list[dict[str, str]]
) -> None:
    assert refusing.ask("GET", "/v1/spaces", by=by).json() == {"items": seen}


def test_every_operation_is_covered() -> None:
    assert {step.operation for step in STEPS} == set(routes()) - ELSEWHERE - {"guide"}


def test_a_zoned_token_learns_within_its_zone_and_changes_nothing_above(
    opened: Interface,
) -> None:
    _, secret = opened.keyring.create("mailbox", {"notes": "write"}, zone="untrusted")
    by_mail = {"authorization": f"Bearer {secret}"}
    ours = opened.learn("the gate code is 4711", by="writer").json()["block_id"]
    learned = opened.learn("the gate code is 0000", by=None, headers=by_mail)
    own = opened.ask("GET", f"{NOTES}/blocks/{learned.json()['block_id']}", by="reader").json()
    assert (learned.status_code, own["zone"]) == (201, "untrusted")
    body = {"content": "the gate code is 1234", "zone": "trusted"}
    asked_for_more = opened.ask("POST", f"{NOTES}/blocks", by=None, headers=by_mail, json=body)
    forgotten = opened.ask("DELETE", f"{NOTES}/blocks/{ours}", by=None, headers=by_mail)
    assert [refused(each) for each in (asked_for_more, forgotten)] == [(403, "forbidden")] * 2
    assert opened.ask("GET", f"{NOTES}/blocks/{ours}", by="reader").json()["status"] == "inbox"
