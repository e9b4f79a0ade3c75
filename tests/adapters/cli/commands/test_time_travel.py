"""as-of, replay and verify."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

Shell = Callable[..., Any]

QUESTION = "When is the demo?"


@pytest.fixture
def revised(noted: Shell) -> Shell:
    """A store in which the answer to the question changed after it was asked, as d9."""
    first = noted("recall", QUESTION, "--json").document["block_ids"][0]
    assert noted("revise", first, "The demo is on Friday.").exit == 0
    assert noted("consolidate").exit == 0
    return noted


def test_an_hour_that_has_not_come_yet_is_refused(noted: Shell) -> None:
    asked = (("status",), ("recall", "demo"), ("timeline",))
    for query in asked:
        failed = noted("as-of", "--hour", "99999", *query, "--json")
        assert (failed.exit, failed.error["code"]) == (1, "point-out-of-range")
        assert "hour 99999 has not come yet" in failed.error["detail"]
    assert noted("fork", "later", "--hour", "99999", "--json").error["code"] == "point-out-of-range"
    hour = noted("status", "--json").document["hour"]
    assert noted("as-of", "--hour", f"{hour:.2f}", "status").exit == 0
    assert noted("as-of", "--hour", str(hour), "status").exit == 0


@pytest.mark.parametrize(
    "point", [["--version", "8"], ["--decision", "d9"], ["--at", "2999-01-01"], ["--hour", "0"]]
)
def test_every_way_to_name_a_point_is_taken(revised: Shell, point: list[str]) -> None:
    shown = revised("as-of", *point)
    assert shown.exit == 0
    assert shown.out.startswith("As of version ")


def test_the_past_answers_as_it_did(revised: Shell) -> None:
    past = revised("as-of", "--decision", "d9", "recall", QUESTION, "--json").document
    now = revised("recall", QUESTION, "--json").document
    assert past["blocks"][0]["content"] == "Ines moved the demo to Thursday."
    assert now["blocks"][0]["content"] == "The demo is on Friday."


def test_a_point_may_follow_the_command(revised: Shell) -> None:
    before = revised("as-of", "--version", "8", "status", "--json")
    behind = revised("as-of", "status", "--version", "8", "--json")
    assert before.document == behind.document
    assert before.document["version"] == 8


def test_looking_back_writes_nothing(revised: Shell) -> None:
    before = revised("status", "--json").document["version"]
    revised("as-of", "--version", "8", "recall", QUESTION)
    revised("replay", "d9")
    revised("verify")
    assert revised("status", "--json").document["version"] == before


def test_a_block_is_shown_as_it_was(revised: Shell) -> None:
    first = revised("blocks", "--limit", "1", "--json").document["items"][0]["id"]
    then = revised("as-of", "--version", "8", "block", first[:8], "--json").document
    now = revised("block", first[:8], "--json").document
    assert (then["status"], now["status"]) == ("active", "archived")


def test_a_block_learned_later_is_not_known_yet(revised: Shell) -> None:
    last = revised("blocks", "--json").document["items"][-1]["id"]
    noted = revised("as-of", "--version", "8", "block", last[:8], "--json")
    assert (noted.exit, noted.error["code"]) == (1, "block-not-found")


def test_the_log_of_the_past_ends_there(revised: Shell) -> None:
    lines = revised("as-of", "--version", "8", "log", "--limit", "2", "--json").out.splitlines()
    assert [json.loads(line)["version"] for line in lines] == [7, 8]


@pytest.mark.parametrize("point", [[], ["--hour", "1", "--version", "2"]])
def test_exactly_one_point_must_be_named(revised: Shell, point: list[str]) -> None:
    noted = revised("as-of", *point, "--json")
    assert (noted.exit, noted.error["code"]) == (1, "field-refused")


def test_a_point_behind_the_end_is_refused(revised: Shell) -> None:
    noted = revised("as-of", "--version", "999", "--json")
    assert (noted.exit, noted.error["code"]) == (1, "point-out-of-range")


def test_a_decision_is_replayed(revised: Shell) -> None:
    noted = revised("replay", "d9", "--json")
    assert (noted.exit, noted.document["outcome"]) == (0, "reproduced")
    shown = revised("replay", "d9", "--explain").out
    assert shown.startswith("Reproduced d9 as of version 8")
    assert "Ines moved the demo to Thursday." in shown


def test_every_decision_is_replayed_at_once(revised: Shell) -> None:
    noted = revised("replay", "--all", "--json")
    assert (noted.exit, noted.document["decisions"], noted.document["reproduced"]) == (0, 1, 1)
    assert revised("replay", "--all").out == "Reproduced 1 of 1 decision.\n"
    assert revised("replay", "--all", "--after", "9").out == "No decisions.\n"


@pytest.mark.parametrize("which", [(), ("d9", "--all")])
def test_one_decision_or_all_must_be_named(revised: Shell, which: tuple[str, ...]) -> None:
    noted = revised("replay", *which, "--json")
    assert (noted.exit, noted.error["code"]) == (1, "field-refused")


def test_a_decision_that_saw_erased_words_is_sealed_and_that_is_no_failure(revised: Shell) -> None:
    first = revised("blocks", "--limit", "1", "--json").document["items"][0]["id"]
    revised("erase", first, "--yes")
    noted = revised("replay", "d9", "--json")
    assert (noted.exit, noted.document["outcome"]) == (0, "sealed")


def test_a_decision_that_was_never_made_is_refused(revised: Shell) -> None:
    assert revised("replay", "d4", "--json").error["code"] == "decision-not-found"


def test_a_sound_log_is_verified(revised: Shell) -> None:
    noted = revised("verify", "--json")
    assert (noted.exit, noted.document["sound"]) == (0, True)
    assert revised("verify").out.startswith("Sound: ")
