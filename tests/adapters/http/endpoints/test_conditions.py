"""ETag, If-Match and If-None-Match: the version of the log as HTTP conditions."""

from __future__ import annotations

import re
from contextlib import closing
from pathlib import Path

import pytest

from mnemic.adapters.stores.sqlite import SQLiteStore
from tests.adapters.http.interfaces import NOTES, Interface, interface


def version(opened: Interface) -> str:
    """Return the ETag of the space."""
    return opened.ask("GET", NOTES).headers["etag"]


def test_every_response_has_its_version(opened: Interface) -> None:
    learned = opened.learn("Ines moved the demo.")
    asked = opened.ask("GET", f"{NOTES}/blocks")
    assert learned.headers["mnemic-version"] == "2"
    assert re.fullmatch(r'"2\.[0-9a-f]{16}"', learned.headers["etag"])
    assert asked.headers["etag"] == learned.headers["etag"]


def test_responses_must_be_revalidated(refusing: Interface) -> None:
    assert refusing.ask("GET", NOTES).headers["cache-control"] == "private, no-cache"


@pytest.mark.parametrize("tag", ['"1"', 'W/"1"', '"0", "1"', "*"])
def test_unchanged_results_are_not_sent_again(refusing: Interface, tag: str) -> None:
    answer = refusing.ask("GET", f"{NOTES}/blocks", headers={"if-none-match": tag})
    assert (answer.status_code, answer.content) == (304, b"")
    assert answer.headers["etag"] == version(refusing)


@pytest.mark.parametrize("tag", ['"0"', '"01"', '"nothing"', ""])
def test_changed_results_are_sent(refusing: Interface, tag: str) -> None:
    answer = refusing.ask("GET", f"{NOTES}/blocks", headers={"if-none-match": tag})
    assert (answer.status_code, answer.json()["items"]) == (200, [])


def test_results_that_change_without_the_log_are_sent_again(tmp_path: Path) -> None:
    with (
        closing(SQLiteStore(tmp_path / "store.db")) as store,
        interface(tmp_path, store=store) as opened,
    ):
        before = opened.ask("GET", f"{NOTES}/checkpoints")
        opened.ask("POST", f"{NOTES}/checkpoints")
        headers = {"if-none-match": before.headers["etag"]}
        after = opened.ask("GET", f"{NOTES}/checkpoints", headers=headers)
    assert before.json()["items"] == []
    assert (after.status_code, len(after.json()["items"])) == (200, 1)
    assert after.headers["etag"] == before.headers["etag"]


def test_expiry_changes_the_frontier_without_the_log(opened: Interface) -> None:
    opened.ask("POST", f"{NOTES}/blocks", json={"content": "Noise.", "expires_at": "2026-01-02"})
    opened.ask("POST", f"{NOTES}/consolidate")
    before = opened.ask("GET", f"{NOTES}/frontier")
    opened.clock.advance(hours=48)
    headers = {"if-none-match": before.headers["etag"]}
    after = opened.ask("GET", f"{NOTES}/frontier", headers=headers)
    assert after.headers["etag"] == before.headers["etag"]
    assert (before.json()["blocks"], after.status_code, after.json()["blocks"]) == (1, 200, 0)


def test_results_in_a_session_are_sent_again(opened: Interface) -> None:
    session = opened.ask("POST", f"{NOTES}/sessions").json()["session_id"]
    opened.learn("Ines moved the demo.", headers={"mnemic-session": session})
    headers = {"mnemic-session": session, "if-none-match": version(opened)}
    before = opened.ask("GET", f"{NOTES}/timeline", headers=headers)
    opened.clock.advance(minutes=30)
    after = opened.ask("GET", f"{NOTES}/timeline", headers=headers)
    apart = opened.ask("GET", f"{NOTES}/timeline", headers={"if-none-match": version(opened)})
    assert [each.status_code for each in (before, after, apart)] == [200, 200, 304]
    assert after.json() != before.json()
    # One address with a different response for each session: for caches.
    assert {each.headers["vary"] for each in (before, after, apart)} == {"Mnemic-Session"}


def test_missing_resources_are_not_unchanged(refusing: Interface) -> None:
    headers = {"if-none-match": version(refusing)}
    assert (
        refusing.ask("GET", f"{NOTES}/blocks/0123456789abcdef", headers=headers).status_code == 404
    )


def test_a_write_at_the_version_that_was_read_is_made(opened: Interface) -> None:
    answer = opened.learn("Ines moved the demo.", headers={"if-match": version(opened)})
    assert (answer.status_code, answer.headers["mnemic-version"]) == (201, "2")


@pytest.mark.parametrize("tag", ['"0"', '"7"', 'W/"1"', '"x"', "", '"1.0123456789abcdef"', '"7.0"'])
def test_a_write_at_another_version_is_not_made(refusing: Interface, tag: str) -> None:
    answer = refusing.learn("Ines moved the demo.", headers={"if-match": tag})
    assert (answer.status_code, answer.json()["code"]) == (412, "version-conflict")
    assert answer.json()["head"] == 1
    assert version(refusing).startswith('"1.')


@pytest.mark.parametrize("tag", ["*", '"0", "1"'])
def test_a_write_may_name_any_version_or_several(opened: Interface, tag: str) -> None:
    assert opened.learn("Ines moved the demo.", headers={"if-match": tag}).status_code == 201


def test_two_writers_from_one_version_do_not_both_succeed(opened: Interface) -> None:
    read = version(opened)
    first = opened.learn("Ines moved the demo.", headers={"if-match": read})
    second = opened.learn("Tomasz moved it back.", headers={"if-match": read})
    third = opened.learn("He did.", headers={"if-match": first.headers["etag"]})
    assert [each.status_code for each in (first, second, third)] == [201, 412, 201]


def test_a_repeated_command_succeeds_despite_its_own_write(opened: Interface) -> None:
    headers = {"if-match": version(opened), "idempotency-key": "moved"}
    first = opened.learn("Ines moved the demo.", headers=headers)
    opened.learn("Something else.")
    again = opened.learn("Ines moved the demo.", headers=headers)
    assert (again.status_code, again.json()) == (201, first.json())
    assert again.headers["etag"] == first.headers["etag"]
    assert again.headers["mnemic-version"] == "2"


def test_a_write_unless_nothing_has_changed(opened: Interface) -> None:
    answer = opened.learn("Ines moved the demo.", headers={"if-none-match": version(opened)})
    assert (answer.status_code, answer.json()["code"]) == (412, "version-conflict")


def test_a_read_at_another_version_is_refused(refusing: Interface) -> None:
    assert refusing.ask("GET", NOTES, headers={"if-match": '"0"'}).status_code == 412


@pytest.mark.parametrize(
    ("header", "tag", "status"),
    [
        ("if-match", '"2"', 200),
        ("if-match", '"1"', 412),
        ("if-none-match", '"2"', 412),
        ("if-none-match", '"1"', 200),
    ],
)
def test_a_conditional_read_writes_nothing(
    opened: Interface, header: str, tag: str, status: int
) -> None:
    opened.learn("Ines moved the demo.")
    answer = opened.ask(
        "POST",
        f"{NOTES}/recall",
        json={"query": "demo", "record": False},
        headers={header: tag},
    )
    assert (answer.status_code, version(opened)[:3]) == (status, '"2.')


def test_the_tag_of_another_history_matches_none_of_this_one(opened: Interface) -> None:
    tag, other = version(opened), '"1.0123456789abcdef"'
    asked = [
        opened.ask("GET", f"{NOTES}/blocks", headers={"if-none-match": each})
        for each in (tag, other)
    ]
    assert [each.status_code for each in asked] == [304, 200]
    asked = [opened.ask("GET", NOTES, headers={"if-match": each}) for each in (tag, other)]
    assert [each.status_code for each in asked] == [200, 412]


@pytest.mark.parametrize("tag", ["1", '"1', '"1" "2"', "W/1"])
def test_an_invalid_list_of_tags_is_refused(refusing: Interface, tag: str) -> None:
    answer = refusing.ask("GET", NOTES, headers={"if-none-match": tag})
    assert (answer.status_code, answer.json()["code"]) == (400, "request-unreadable")
