"""Commands that write one thing at a time."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from typing import Any

import pytest

Shell = Callable[..., Any]


def ids(shell: Shell) -> list[str]:
    return [block["id"] for block in shell("blocks", "--json").document["items"]]


def test_learning_makes_the_store_and_answers_with_a_short_id(shell: Shell, store: Any) -> None:
    noted = shell("learn", "Ines moved the demo to Thursday.")
    assert noted.exit == 0
    assert noted.out.endswith("waits in the inbox.\n")
    assert store.exists()


def test_all_attributes_of_a_text_are_kept(shell: Shell) -> None:
    options = "--tag demo --tag team --category decision --author Ines --thread week-14".split()
    more = "--source web --confidence 0.5 --created-at 2026-04-01T09:00:00+02:00".split()
    shell("learn", "Thursday.", *options, *more, "--metadata", "room=4", "--metadata", "by=word")
    block = shell("blocks", "--json").document["items"][0]
    kept = {key: block[key] for key in ("tags", "category", "author", "thread", "source", "zone")}
    assert kept == {
        "tags": ["demo", "team"],
        "category": "decision",
        "author": "Ines",
        "thread": "week-14",
        "source": "web",
        "zone": "external",
    }
    assert block["confidence"] == 0.5
    assert block["created_at"] == "2026-04-01T07:00:00+00:00"
    assert block["metadata"] == {"room": 4, "by": "word"}


def test_a_dash_reads_the_text_from_standard_input(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("Said through a pipe."))
    shell("learn", "-")
    assert shell("blocks", "--json").document["items"][0]["content"] == "Said through a pipe."


def test_text_that_begins_with_a_hyphen_goes_behind_two(shell: Shell) -> None:
    assert "after --" in shell("learn", "-5 degrees", "--json").error["recovery"]
    assert shell("learn", "--", "-5 degrees").exit == 0
    assert shell("blocks", "--json").document["items"][0]["content"] == "-5 degrees"


def test_the_log_names_the_command_line_as_the_actor(shell: Shell) -> None:
    shell("learn", "Thursday.")
    assert '"actor": "cli"' in shell("log", "--json").out


def test_a_short_id_is_enough_to_connect_and_disconnect(noted: Shell) -> None:
    first, second, _ = ids(noted)
    made = noted("connect", first[:8], second[:8], "supports", "--note", "Both of March.", "--json")
    assert (made.exit, made.document["action"]) == (0, "created")
    assert (made.document["source_id"], made.document["target_id"]) == (first, second)
    shown = noted("block", first[:8], "--json").document
    assert [edge["note"] for edge in shown["edges"]] == ["Both of March."]
    assert noted("disconnect", first[:8], second[:8], "--json").document["action"] == "removed"


def test_a_surprising_weight_is_taken_with_a_warning(noted: Shell) -> None:
    first, second, _ = ids(noted)
    made = noted("connect", first, second, "supports", "--weight", "0.1")
    assert made.exit == 0
    assert made.err.startswith("warning ")


def test_a_revised_block_gives_way_to_its_successor(noted: Shell) -> None:
    first = ids(noted)[0]
    new = noted(
        "revise", first[:8], "The demo is on Friday.", "--reason", "rain", "--json"
    ).document
    old = noted("block", first, "--json").document
    assert (old["status"], old["superseded_by"]) == ("archived", new["block_id"])


def test_a_forgotten_block_is_archived_and_an_erased_one_has_no_words(noted: Shell) -> None:
    first, second, _ = ids(noted)
    assert noted("forget", first[:8], "--json").document["action"] == "archived"
    receipt = noted("erase", second[:8], "--yes", "--json").document
    assert receipt["block_ids"] == [second]
    assert [noted("block", each, "--json").document["content"] for each in (first, second)] == [
        "Ines moved the demo to Thursday.",
        None,
    ]


def test_an_outcome_scores_blocks_or_a_whole_decision(noted: Shell) -> None:
    first = ids(noted)[0]
    asked = noted("recall", "When is the demo?", "--json").document
    scored = noted("outcome", "--decision", asked["decision_id"], "--signal", "0.9", "--json")
    assert scored.document["updated"] == sorted(asked["block_ids"])
    again = noted("outcome", first[:8], "--signal", "0.1", "--json").document
    assert (again["updated"], again["penalised"]) == ([first], 1)


def test_a_block_that_cannot_be_scored_makes_the_outcome_a_refusal(noted: Shell) -> None:
    first, second, _ = ids(noted)
    noted("forget", first)
    scored = noted("outcome", first, second, "--signal", "1.0")
    assert scored.exit == 1
    assert "block-not-active" in scored.err


def test_upkeep_says_what_it_did(shell: Shell, notes: Any) -> None:
    shell("ingest", str(notes), "--no-consolidate")
    assert shell("consolidate", "--limit", "2", "--json").document["inbox_remaining"] == 1
    assert shell("consolidate", "--relink", "--json").document["inbox_remaining"] == 0
    assert shell("curate").out.startswith("Curated: ")
