"""recall, status, blocks, block and log, as tables and as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

Shell = Callable[..., Any]

QUESTION = "When is the demo?"


def test_a_recall_reads_as_rank_id_score_and_words(told: Shell) -> None:
    asked = told("recall", QUESTION)
    best = told("recall", QUESTION, "--json").document["blocks"][0]
    row = asked.out.splitlines()[2]
    assert row.split()[:2] == ["1", best["id"][:8]]
    assert row.rstrip().endswith("Ines moved the demo to Thursday.")
    assert "d9 · attention · version 8 at" in asked.out


def test_an_explained_recall_shows_every_signal_as_a_bar(told: Shell) -> None:
    asked = told("recall", QUESTION, "--explain", "--top-k", "1")
    assert [line.split()[0] for line in asked.out.splitlines() if "×" in line] == [
        "relevance",
        "recency",
        "usefulness",
        "confidence",
        "frequency",
    ]
    assert "█" in asked.out
    assert "(top_k)" in asked.out


def test_a_recall_is_recorded_unless_told_otherwise(told: Shell) -> None:
    assert told("recall", QUESTION, "--no-record", "--json").document["decision_id"] is None
    assert told("status", "--json").document["decisions"] == 0
    assert told("recall", QUESTION, "--json").document["decision_id"] == "d9"
    assert told("status", "--json").document["decisions"] == 1


@pytest.mark.parametrize(
    ("conditions", "authors"),
    [
        (["tags=gauge"], ["Tomasz"]),
        (["author=Ines", "author=Tomasz"], ["Ines", "Tomasz"]),
        (["category=observation"], [None]),
        (["metadata.turn=D1:3"], []),
        (["until=2001-01-01"], []),
    ],
)
def test_conditions_decide_who_may_answer(
    told: Shell, conditions: list[str], authors: list[str | None]
) -> None:
    where = [word for each in conditions for word in ("--where", each)]
    found = told("recall", QUESTION, *where, "--json").document["blocks"]
    assert sorted((block["author"] for block in found), key=str) == authors


def test_a_recall_that_finds_nothing_says_so(told: Shell) -> None:
    asked = told("recall", QUESTION, "--where", "author=Nobody")
    assert asked.exit == 0
    assert asked.out.startswith("No memory bears on this.")


def test_a_recall_takes_frame_and_budget(told: Shell) -> None:
    asked = told("recall", "--frame", "task", "--budget", "20", "--json").document
    assert (asked["frame"], asked["token_budget"], asked["query"]) == ("task", 20, None)


def test_a_recall_suggests_when_it_is_asked_to(told: Shell) -> None:
    ids = [item["id"] for item in told("blocks", "--json").document["items"]]
    asked = told("recall", QUESTION, "--suggest", "--json").document
    assert len(asked["suggested_connections"]) <= 3
    assert all(each["source_id"] in ids for each in asked["suggested_connections"])
    assert told("recall", QUESTION, "--suggest").exit == 0


def test_contradictions_are_flagged(told: Shell) -> None:
    first, second = (
        block["id"] for block in told("blocks", "--limit", "2", "--json").document["items"]
    )
    told("connect", second, first, "contradicts")
    asked = told("recall", QUESTION, "--top-k", "1")
    assert "But mind" in asked.out
    assert second[:8] in asked.out


def test_status_names_the_space_its_counts_and_its_clock(told: Shell) -> None:
    shown = told("status").out
    assert "3 active, 0 in the inbox, 0 archived" in shown
    assert "wordllama/l2_supercat" in shown


def test_blocks_are_listed_page_by_page(told: Shell) -> None:
    first = told("blocks", "--limit", "2", "--json").document
    second = told("blocks", "--after", str(first["next_after"]), "--json").document
    assert [len(page["items"]) for page in (first, second)] == [2, 1]
    assert "Go on with --after" in told("blocks", "--limit", "2").out


def test_blocks_are_listed_by_what_they_are(told: Shell) -> None:
    listed = told("blocks", "--tag", "gauge", "--status", "active", "--json").document["items"]
    assert [block["author"] for block in listed] == ["Tomasz"]


def test_a_block_is_shown_with_its_edges(told: Shell) -> None:
    first, second = (
        block["id"] for block in told("blocks", "--limit", "2", "--json").document["items"]
    )
    told("connect", first, second, "supports", "--note", "Both of March.")
    shown = told("block", second[:8]).out
    assert shown.startswith(second)
    assert "← supports" in shown
    assert "Both of March." in shown


def test_the_log_is_one_json_document_per_line(told: Shell) -> None:
    events = [json.loads(line) for line in told("log", "--after", "-1", "--json").out.splitlines()]
    assert [event["version"] for event in events] == list(range(9))
    assert events[0]["kind"] == "space-opened"


def test_the_log_shows_the_last_events_or_those_behind_a_block(told: Shell) -> None:
    assert told("log", "--limit", "1").out.split()[-5:][0] == "8"
    first = told("blocks", "--limit", "1", "--json").document["items"][0]["id"]
    kinds = [
        json.loads(line)["kind"] for line in told("log", "--of", first, "--json").out.splitlines()
    ]
    assert kinds == ["block-learned", "blocks-promoted"]


def test_words_cannot_steer_the_terminal(shell: Shell) -> None:
    shell("learn", "red \x1b[31m alert\u202e\nand more")
    shown = shell("blocks").out
    assert "\x1b" not in shown
    assert "\u202e" not in shown


def test_words_are_no_markup(shell: Shell) -> None:
    shell("learn", "See [bold]this[/bold] and [/nothing].")
    assert "[bold]this[/bold] and [/nothing]." in shell("recall", "see this").out
