"""Commands that are repeated, sessions that go on over requests, points of the past."""

from __future__ import annotations

import pytest

from tests.adapters.http.doors import NOTES, Door


def test_a_command_with_the_same_key_is_written_once(opened: Door) -> None:
    headers = {"idempotency-key": "moved"}
    first = opened.learn("Ines moved the demo.", headers=headers)
    again = opened.learn("Ines moved the demo.", headers=headers)
    assert first.json() == again.json() == {**first.json(), "action": "created", "version": 2}
    assert opened.ask("GET", NOTES).headers["mnemic-version"] == "2"


def test_a_key_may_stand_in_quotes(opened: Door) -> None:
    opened.learn("Ines moved the demo.", headers={"idempotency-key": '"moved"'})
    again = opened.learn("Ines moved the demo.", headers={"idempotency-key": "moved"})
    assert again.json()["action"] == "created"


def test_a_key_is_good_for_one_request(opened: Door) -> None:
    headers = {"idempotency-key": "moved"}
    opened.learn("Ines moved the demo.", headers=headers)
    answer = opened.learn("Tomasz did.", headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (409, "command-id-reused")


def test_a_question_may_bear_a_key(opened: Door) -> None:
    assert opened.ask("GET", NOTES, headers={"idempotency-key": "x"}).status_code == 200


@pytest.mark.parametrize("key", ["", '""', "k" * 201])
def test_a_key_that_is_no_name_is_refused(refusing: Door, key: str) -> None:
    answer = refusing.learn("Ines moved the demo.", headers={"idempotency-key": key})
    assert (answer.status_code, answer.json()["field"]) == (422, "Idempotency-Key")


def test_a_command_that_cannot_be_repeated_takes_no_key(opened: Door) -> None:
    answer = opened.ask(
        "POST", f"{NOTES}/fork", by="root", json={"space": "b"}, headers={"idempotency-key": "x"}
    )
    assert (answer.status_code, answer.json()["field"]) == (422, "Idempotency-Key")


def test_time_passes_in_a_session_that_goes_on(opened: Door) -> None:
    session = opened.ask("POST", f"{NOTES}/sessions").json()["session_id"]
    headers = {"mnemic-session": session}
    opened.learn("Ines moved the demo.", headers=headers)
    opened.clock.advance(minutes=30)
    opened.learn("Tomasz came late.", headers=headers)
    ended = opened.ask("POST", f"{NOTES}/sessions/end", headers=headers)
    assert ended.json() == {"session_id": session, "action": "ended", "hour": 0.5}


def test_without_the_header_no_session_goes_on(opened: Door) -> None:
    opened.ask("POST", f"{NOTES}/sessions")
    answer = opened.ask("POST", f"{NOTES}/sessions/end")
    assert (answer.status_code, answer.json()["code"]) == (409, "session-state")


@pytest.mark.parametrize("by", ["writer", "root"])
def test_nobody_goes_on_with_the_session_of_another(opened: Door, by: str) -> None:
    session = opened.ask("POST", f"{NOTES}/sessions").json()["session_id"]
    answer = opened.learn("Mine.", by=by, headers={"mnemic-session": session})
    assert (answer.status_code, answer.json()["code"]) == (409, "session-state")


def test_a_session_that_never_was_does_not_go_on(opened: Door) -> None:
    answer = opened.learn("Mine.", headers={"mnemic-session": "0123456789abcdef"})
    assert (answer.status_code, answer.json()["code"]) == (409, "session-state")


def test_the_past_is_asked_by_a_point_in_the_query(opened: Door) -> None:
    opened.learn("Ines moved the demo.")
    opened.learn("Tomasz came late.")
    then = opened.ask("GET", f"{NOTES}/blocks?as_of=version:2").json()
    assert [block["content"] for block in then["items"]] == ["Ines moved the demo."]


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("as_of=yesterday", "as_of"),
        ("as_of=version:1&as_of=version:2", "as_of"),
        ("now=2026-03-01T12:00:00Z", "now"),
    ],
)
def test_a_point_that_is_none_is_refused(opened: Door, query: str, field: str) -> None:
    answer = opened.ask("GET", f"{NOTES}/blocks?{query}")
    assert (answer.status_code, answer.json()["field"]) == (422, field)


def test_what_writes_has_no_past(opened: Door) -> None:
    answer = opened.ask("POST", f"{NOTES}/blocks?as_of=version:1", json={"content": "Then."})
    assert (answer.status_code, answer.json()["field"]) == (422, "as_of")


def test_what_was_made_says_where_it_can_be_asked_for(opened: Door) -> None:
    learned = opened.learn("Ines moved the demo.")
    found = opened.ask("GET", learned.headers["location"])
    assert found.json()["id"] == learned.json()["block_id"]


@pytest.mark.parametrize("path", ["blocks?limit=2", "log?limit=2"])
def test_a_page_says_where_the_next_one_is(opened: Door, path: str) -> None:
    for number in range(3):
        opened.learn(f"Note {number}.")
    pages = [opened.ask("GET", f"{NOTES}/{path}")]
    while "link" in pages[-1].headers:
        link = pages[-1].headers["link"]
        pages.append(opened.ask("GET", link.partition("<")[2].partition(">")[0]))
    whole = opened.ask("GET", f"{NOTES}/{path.partition('?')[0]}").json()["items"]
    assert [item for page in pages for item in page.json()["items"]] == whole
