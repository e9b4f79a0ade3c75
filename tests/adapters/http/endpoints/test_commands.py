"""Repeated commands, sessions over several requests, and points of the past."""

from __future__ import annotations

import pytest

from tests.adapters.http.interfaces import NOTES, Interface


def test_a_command_with_the_same_key_is_written_once(opened: Interface) -> None:
    headers = {"idempotency-key": "moved"}
    first = opened.learn("Ines moved the demo.", headers=headers)
    again = opened.learn("Ines moved the demo.", headers=headers)
    assert first.json() == again.json() == {**first.json(), "action": "created", "version": 2}
    assert opened.ask("GET", NOTES).headers["mnemic-version"] == "2"


def test_a_key_may_be_quoted(opened: Interface) -> None:
    opened.learn("Ines moved the demo.", headers={"idempotency-key": '"moved"'})
    again = opened.learn("Ines moved the demo.", headers={"idempotency-key": "moved"})
    assert again.json()["action"] == "created"


def test_a_key_is_good_for_one_request(opened: Interface) -> None:
    headers = {"idempotency-key": "moved"}
    opened.learn("Ines moved the demo.", headers=headers)
    answer = opened.learn("Tomasz did.", headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (409, "command-id-reused")


def test_a_read_may_have_a_key(opened: Interface) -> None:
    assert opened.ask("GET", NOTES, headers={"idempotency-key": "x"}).status_code == 200


@pytest.mark.parametrize("key", ["", '""', "k" * 201])
def test_an_invalid_key_is_refused(refusing: Interface, key: str) -> None:
    answer = refusing.learn("Ines moved the demo.", headers={"idempotency-key": key})
    assert (answer.status_code, answer.json()["field"]) == (422, "Idempotency-Key")


def test_a_command_that_cannot_be_repeated_takes_no_key(opened: Interface) -> None:
    answer = opened.ask(
        "POST", f"{NOTES}/fork", by="root", json={"space": "b"}, headers={"idempotency-key": "x"}
    )
    assert (answer.status_code, answer.json()["field"]) == (422, "Idempotency-Key")


def test_time_passes_in_a_session_that_goes_on(opened: Interface) -> None:
    session = opened.ask("POST", f"{NOTES}/sessions").json()["session_id"]
    headers = {"mnemic-session": session}
    opened.learn("Ines moved the demo.", headers=headers)
    opened.clock.advance(minutes=30)
    opened.learn("Tomasz came late.", headers=headers)
    ended = opened.ask("POST", f"{NOTES}/sessions/end", headers=headers)
    assert ended.json() == {
        "session_id": session,
        "action": "ended",
        "hour": 0.5,
        "superseded": [],
        "contradictions": [],
    }


def test_the_end_of_a_session_names_what_it_changed(opened: Interface) -> None:
    session = opened.ask("POST", f"{NOTES}/sessions").json()["session_id"]
    headers = {"mnemic-session": session}
    texts = ("The gate is open.", "the gate is open", "The lamp is on.", "The lamp is off.")
    old, new, on, off = (opened.learn(text, headers=headers).json()["block_id"] for text in texts)
    ended = opened.ask("POST", f"{NOTES}/sessions/end", headers=headers).json()
    assert ended["superseded"] == [{"old": old, "new": new, "why": "same", "by": None}]
    assert ended["contradictions"] == [{"older": on, "newer": off}]


def test_without_the_header_no_session_goes_on(opened: Interface) -> None:
    opened.ask("POST", f"{NOTES}/sessions")
    answer = opened.ask("POST", f"{NOTES}/sessions/end")
    assert (answer.status_code, answer.json()["code"]) == (409, "session-state")


@pytest.mark.parametrize("by", ["writer", "root"])
def test_a_session_of_another_actor_is_refused(opened: Interface, by: str) -> None:
    session = opened.ask("POST", f"{NOTES}/sessions").json()["session_id"]
    answer = opened.learn("Mine.", by=by, headers={"mnemic-session": session})
    assert (answer.status_code, answer.json()["code"]) == (409, "session-state")


def test_an_unknown_session_is_refused(opened: Interface) -> None:
    answer = opened.learn("Mine.", headers={"mnemic-session": "0123456789abcdef"})
    assert (answer.status_code, answer.json()["code"]) == (409, "session-state")


def test_the_past_is_asked_by_a_point_in_the_query(opened: Interface) -> None:
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
def test_an_invalid_time_point_is_refused(opened: Interface, query: str, field: str) -> None:
    answer = opened.ask("GET", f"{NOTES}/blocks?{query}")
    assert (answer.status_code, answer.json()["field"]) == (422, field)


def test_writes_have_no_view_of_the_past(opened: Interface) -> None:
    answer = opened.ask("POST", f"{NOTES}/blocks?as_of=version:1", json={"content": "Then."})
    assert (answer.status_code, answer.json()["field"]) == (422, "as_of")


def test_created_resources_have_a_location(opened: Interface) -> None:
    learned = opened.learn("Ines moved the demo.")
    found = opened.ask("GET", learned.headers["location"])
    assert found.json()["id"] == learned.json()["block_id"]


@pytest.mark.parametrize("path", ["blocks?limit=2", "log?limit=2"])
def test_a_page_links_to_the_next(opened: Interface, path: str) -> None:
    for number in range(3):
        opened.learn(f"Note {number}.")
    pages = [opened.ask("GET", f"{NOTES}/{path}")]
    while "link" in pages[-1].headers:
        link = pages[-1].headers["link"]
        pages.append(opened.ask("GET", link.partition("<")[2].partition(">")[0]))
    whole = opened.ask("GET", f"{NOTES}/{path.partition('?')[0]}").json()["items"]
    assert [item for page in pages for item in page.json()["items"]] == whole
