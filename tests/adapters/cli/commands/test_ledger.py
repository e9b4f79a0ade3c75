"""Compositions, labels and the frontier on the command line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Shell = Callable[..., Any]

SAID = (
    ("Oracle drift can break delayed settlement.", "fact", "boundary-oracle"),
    ("Withdrawal queues can settle stale claims of the oracle.", "pattern", "boundary-queue"),
    ("Settlement delayed by keeper windows of the oracle.", "decision", "boundary-keeper"),
)


@pytest.fixture
def ids(shell: Shell) -> list[str]:
    """Three blocks, active, by the ids that people see."""
    for words, category, tag in SAID:
        assert (
            shell("learn", words, "--category", category, "--tag", "gate", "--tag", tag).exit == 0
        )
    shell("consolidate")
    return [block["id"][:8] for block in shell("blocks", "--json").document["items"]]


@pytest.fixture
def composed(shell: Shell, ids: list[str]) -> Shell:
    """A command line whose store holds the composition ``lane`` of the first two."""
    members = (ids[0], f"{ids[1]}=contradicting")
    answer = shell("compose", *members, "--query", "what may break", "--name", "lane")
    assert answer.exit == 0
    return shell


def test_blocks_are_composed_by_short_ids_and_roles(shell: Shell, ids: list[str]) -> None:
    answer = shell("compose", ids[0], f"{ids[1]}=related", ids[2], "--confidence", "0.5", "--json")
    assert (answer.exit, answer.document["action"]) == (0, "created")
    shown = shell("ledger", answer.document["composition_id"], "--json").document
    assert (shown["tool"], shown["confidence"]) == ("cli", 0.5)
    assert [(each["block_id"][:8], each["role"]) for each in shown["members"]] == [
        (ids[0], "primary"),
        (ids[1], "related"),
        (ids[2], "supporting"),
    ]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("compose", "00000000"), "block-not-found"),
        (("label", "lane", "great"), "label-unsupported"),
        (("label", "nothing", "helpful"), "composition-not-found"),
        (("ledger", "nothing"), "composition-not-found"),
        (("retract-label", "l1"), "label-not-found"),
        (("frontier", "--mode", "wild"), "field-refused"),
        (("frontier", "--decision", "d1"), "decision-not-found"),
    ],
    ids=" ".join,
)
def test_invalid_compositions_are_refused(
    composed: Shell, words: tuple[str, ...], code: str
) -> None:
    answer = composed(*words, "--json")
    assert (answer.exit, answer.error["code"]) == (1, code)


def test_an_unknown_role_is_refused(shell: Shell, ids: list[str]) -> None:
    answer = shell("compose", f"{ids[0]}=leading", "--json")
    assert (answer.exit, answer.error["code"]) == (1, "field-refused")


def test_labels_are_set_shown_and_taken_back(composed: Shell) -> None:
    answer = composed("label", "lane", "helpful", "--notes", "led to the fix", "--json").document
    composed("label", "lane", "dead_end", "--confidence-delta", "-0.5")
    page = composed("ledger", "lane").out
    assert "led to the fix" in page
    assert "-0.50" in page
    taken = composed("retract-label", answer["label_id"])
    assert taken.out == f"lane helpful: retracted ({answer['label_id']}).\n"
    labels = composed("ledger", "lane", "--json").document["labels"]
    assert [each["label"] for each in labels] == ["dead_end"]


def test_the_ledger_lists_one_composition_to_a_line(composed: Shell, ids: list[str]) -> None:
    composed("label", "lane", "helpful")
    composed("label", "lane", "helpful")
    composed("compose", ids[2], "--name", "alone")
    lines = composed("ledger").out.splitlines()
    assert [line.split()[0] for line in lines[2:4]] == ["alone", "lane"]
    assert "helpful ×2" in lines[3]
    assert "what may break" in lines[3]
    assert lines[4] == "2 compositions"


def test_the_ledger_of_a_block_shows_what_it_was_composed_with(
    composed: Shell, ids: list[str]
) -> None:
    answer = composed("ledger", "--of", ids[0], "--json").document
    assert [each["id"] for each in answer["compositions"]] == ["lane"]
    assert [each["block_id"][:8] for each in answer["composed_with"]] == [ids[1]]
    assert ids[1] in composed("ledger", "--of", ids[0]).out


def test_the_ledger_of_the_past_knows_no_later_label(composed: Shell) -> None:
    version = str(composed("status", "--json").document["version"])
    composed("label", "lane", "helpful")
    assert "helpful" in composed("ledger", "lane").out
    past = composed("as-of", "--version", version, "ledger", "lane", "--json").document
    assert past["labels"] == []
    before = composed("as-of", "--version", "2", "ledger")
    assert before.out.splitlines()[-1] == "Nothing has been composed."


def test_an_empty_ledger_says_so(shell: Shell, ids: list[str]) -> None:
    assert shell("ledger").out == "Nothing has been composed.\n"
    assert shell("ledger", "--of", ids[0], "--json").document == {
        "compositions": [],
        "composed_with": [],
    }


def test_an_outcome_can_name_a_composition(composed: Shell) -> None:
    answer = composed("outcome", "--composition", "lane", "--signal", "0.9", "--json")
    assert (answer.exit, len(answer.document["updated"])) == (0, 2)


@pytest.mark.parametrize("mode", ["default", "classic"])
def test_the_frontier_asks_about_pairs_that_were_never_composed(composed: Shell, mode: str) -> None:
    found = composed("frontier", "--mode", mode, "--json").document
    assert (found["mode"], len(found["candidates"])) == (mode, 2)
    page = composed("frontier", "--mode", mode, "--explain")
    assert page.err == ""
    assert page.out.count("What changes if") == 2
    assert "novelty" in page.out
    assert "not findings" in page.out


def test_the_frontier_asks_about_larger_sets(composed: Shell, ids: list[str]) -> None:
    found = composed("frontier", "--size", "3", "--json").document["candidates"]
    assert [sorted(block[:8] for block in each["block_ids"]) for each in found] == [sorted(ids)]
    assert composed("frontier", "--size", "5").exit == 2
    assert composed("frontier", "--size", "any", "--limit", "1").out.count("What changes if") == 1


def test_an_empty_frontier_says_why(shell: Shell, ids: list[str]) -> None:
    assert "no candidate has such a tag" in shell("frontier", "--tag", "nobody").out
    shell("compose", *ids)
    assert "composed already" in shell("frontier").out


@pytest.mark.usefixtures("ids")
def test_what_waits_in_the_inbox_is_mentioned(shell: Shell) -> None:
    shell("learn", "The oracle is late again.")
    answer = shell("frontier")
    assert "1 block in the inbox" in answer.err
    assert shell("frontier", "--json").err == ""


def test_the_frontier_of_a_decision_tells_what_worked_since(shell: Shell, ids: list[str]) -> None:
    decision = shell("recall", "oracle", "--json").document["decision_id"]
    shell("compose", ids[0], ids[1], "--name", "lane")
    shell("label", "lane", "accepted")
    answer = shell("frontier", "--decision", decision)
    assert "Composed since then, with success:" in answer.out
    assert "accepted" in answer.out
    calibration = shell("frontier", "--decision", decision, "--json").document["calibration"]
    assert [each["composition_id"] for each in calibration] == ["lane"]


def test_the_frontier_of_the_past_still_asks_what_was_answered_since(
    composed: Shell, ids: list[str]
) -> None:
    version = str(composed("status", "--json").document["version"])
    composed("compose", *ids)
    assert "composed already" in composed("frontier").out
    past = composed("as-of", "--version", version, "frontier", "--json").document
    assert len(past["candidates"]) == 2
    assert "What changes if" in composed("as-of", "--version", version, "frontier").out
