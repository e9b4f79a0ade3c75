"""recall, status, blocks, block and log, as tables and as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

Shell = Callable[..., Any]

QUESTION = "When is the demo?"


def test_a_recall_reads_as_rank_id_score_and_words(noted: Shell) -> None:
    asked = noted("recall", QUESTION)
    best = noted("recall", QUESTION, "--json").document["blocks"][0]
    row = next(line for line in asked.out.splitlines() if best["id"][:8] in line)
    assert row.split()[:2] == ["1", best["id"][:8]]
    assert row.rstrip().endswith("Ines moved the demo to Thursday.")
    assert "d9 · answer · version 8 at" in asked.out
    assert "answerable: " in asked.out


def test_an_explained_recall_shows_every_signal_as_a_bar(noted: Shell) -> None:
    asked = noted("recall", QUESTION, "--frame", "attention", "--explain", "--top-k", "1")
    assert [line.split()[0] for line in asked.out.splitlines() if "×" in line] == [
        "relevance",
        "recency",
        "usefulness",
        "confidence",
        "frequency",
    ]
    assert "█" in asked.out
    assert "(top_k)" in asked.out


def test_a_recall_is_recorded_by_default(noted: Shell) -> None:
    assert noted("recall", QUESTION, "--no-record", "--json").document["decision_id"] is None
    assert noted("status", "--json").document["decisions"] == 0
    assert noted("recall", QUESTION, "--json").document["decision_id"] == "d9"
    assert noted("status", "--json").document["decisions"] == 1


@pytest.mark.parametrize(
    ("conditions", "authors"),
    [
        (["tags=gauge"], ["Tomasz"]),
        (["author=Ines", "author=Tomasz"], ["Ines", "Tomasz"]),
        (["category=observation"], [None]),
        (["metadata.turn=D1:3"], []),
        (["until=2001-01-01"], []),
        (['{"any": [{"tags": "gauge"}, {"category": "observation"}]}'], [None, "Tomasz"]),
        (['{"not": {"author": "Ines"}}', "tags=gauge"], ["Tomasz"]),
        (['{"range": {"confidence": {"from": 1.0}}}'], []),
    ],
)
def test_conditions_filter_the_blocks_of_a_recall(
    noted: Shell, conditions: list[str], authors: list[str | None]
) -> None:
    where = [word for each in conditions for word in ("--where", each)]
    found = noted("recall", QUESTION, "--frame", "attention", *where, "--json").document["blocks"]
    assert sorted((block["author"] for block in found), key=str) == authors


def test_a_recall_that_finds_nothing_says_so(noted: Shell) -> None:
    asked = noted("recall", QUESTION, "--where", "author=Nobody")
    assert asked.exit == 0
    assert asked.out.startswith("Nothing in memory bears on this.")


def test_a_recall_takes_frame_and_budget(noted: Shell) -> None:
    asked = noted("recall", "--frame", "task", "--budget", "20", "--json").document
    assert (asked["frame"], asked["token_budget"], asked["query"]) == ("task", 20, None)


def test_a_recall_suggests_when_it_is_asked_to(noted: Shell) -> None:
    ids = [item["id"] for item in noted("blocks", "--json").document["items"]]
    asked = noted("recall", QUESTION, "--suggest", "--json").document
    assert len(asked["suggested_connections"]) <= 3
    assert all(each["source_id"] in ids for each in asked["suggested_connections"])
    assert noted("recall", QUESTION, "--suggest").exit == 0


def test_contradictions_are_flagged(noted: Shell) -> None:
    first, second = (
        block["id"] for block in noted("blocks", "--limit", "2", "--json").document["items"]
    )
    noted("connect", second, first, "contradicts")
    asked = noted("recall", QUESTION, "--top-k", "1")
    assert "But these contradict" in asked.out
    assert second[:8] in asked.out


def test_status_names_the_space_its_counts_and_its_clock(noted: Shell) -> None:
    shown = noted("status").out
    assert "3 active, 0 in the inbox, 0 archived" in shown
    assert "wordllama/l2_supercat" in shown


def test_blocks_are_listed_page_by_page(noted: Shell) -> None:
    first = noted("blocks", "--limit", "2", "--json").document
    second = noted("blocks", "--after", str(first["next_after"]), "--json").document
    assert [len(page["items"]) for page in (first, second)] == [2, 1]
    assert "Continue with --after" in noted("blocks", "--limit", "2").out


def test_blocks_are_filtered_by_their_attributes(noted: Shell) -> None:
    listed = noted("blocks", "--tag", "gauge", "--status", "active", "--json").document["items"]
    assert [block["author"] for block in listed] == ["Tomasz"]


def test_a_block_is_shown_with_its_edges(noted: Shell) -> None:
    first, second = (
        block["id"] for block in noted("blocks", "--limit", "2", "--json").document["items"]
    )
    noted("connect", first, second, "supports", "--note", "Both of March.")
    shown = noted("block", second[:8]).out
    assert shown.startswith(second)
    assert "← supports" in shown
    assert "Both of March." in shown


def test_the_log_is_one_json_document_per_line(noted: Shell) -> None:
    events = [json.loads(line) for line in noted("log", "--after", "-1", "--json").out.splitlines()]
    assert [event["version"] for event in events] == list(range(9))
    assert events[0]["kind"] == "space-opened"


def test_the_log_shows_the_last_events_or_those_behind_a_block(noted: Shell) -> None:
    assert noted("log", "--limit", "1").out.split()[-5:][0] == "8"
    first = noted("blocks", "--limit", "1", "--json").document["items"][0]["id"]
    kinds = [
        json.loads(line)["kind"] for line in noted("log", "--of", first, "--json").out.splitlines()
    ]
    assert kinds == ["block-learned", "blocks-promoted"]


def test_the_history_of_a_block_is_found_by_its_short_id(noted: Shell) -> None:
    first, second, _ = noted("blocks", "--json").document["items"]
    noted("connect", first["id"], second["id"], "supports")
    events = noted("history", second["id"][:8], "--json").out
    assert [json.loads(line)["kind"] for line in events.splitlines()] == [
        "block-learned",
        "blocks-promoted",
        "edge-connected",
    ]
    assert noted("history", "--of", second["id"][:8], "--json").out == events


def test_the_text_for_a_prompt_is_printed_alone(noted: Shell) -> None:
    text = noted("recall", "When is the demo?", "--json").document["text"]
    assert "Ines moved the demo to Thursday." in text
    alone = noted("recall", "When is the demo?", "--text")
    assert (alone.exit, alone.out, alone.err) == (0, f"{text}\n", "")
    past = noted("as-of", "--version", "8", "recall", "When is the demo?", "--text")
    assert (past.exit, past.out) == (0, f"{text}\n")


def test_the_text_of_an_answer_without_blocks_says_so(noted: Shell) -> None:
    answer = noted("recall", "demo", "--where", "tags=none", "--text")
    assert (answer.exit, answer.out) == (0, "Nothing in memory bears on this.\n")


@pytest.mark.parametrize("option", ["--json", "--explain"])
def test_a_text_alone_contradicts_other_forms(noted: Shell, option: str) -> None:
    assert noted("recall", "demo", "--text", option).exit == 1
    assert noted("as-of", "--version", "3", "recall", "demo", "--text", option).exit == 1


def test_control_characters_are_replaced(shell: Shell) -> None:
    shell("learn", "red \x1b[31m alert\u202e\nand more")
    shown = shell("blocks").out
    assert "\x1b" not in shown
    assert "\u202e" not in shown


def test_texts_are_not_interpreted_as_markup(shell: Shell) -> None:
    shell("learn", "See [bold]this[/bold] and [/nothing].")
    assert r"\[bold]this\[/bold] and \[/nothing]." in shell("recall", "see this").out
