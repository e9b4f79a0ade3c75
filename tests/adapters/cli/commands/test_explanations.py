"""explain and why-not, as tables and as JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Shell = Callable[..., Any]

QUESTION = "When is the demo?"


def test_an_explanation_shows_signals_and_history(noted: Shell) -> None:
    found = noted("recall", QUESTION, "--json").document
    shown = noted("explain", found["decision_id"])
    assert shown.exit == 0
    for words in ("relevance", "×", "block-learned", found["block_ids"][0][:8]):
        assert words in shown.out


def test_an_explanation_shows_what_just_missed(noted: Shell) -> None:
    found = noted("recall", QUESTION, "--frame", "attention", "--top-k", "1", "--json").document
    least = noted("explain", found["decision_id"], "--json").document["missed"][0]
    shown = noted("explain", found["decision_id"]).out.partition("Just missed:")[2]
    for words in (least["block_id"][:8], f"{least['margin']:.3f}", least["reason"]):
        assert words in shown
    one = noted("explain", found["decision_id"], found["block_ids"][0][:8])
    assert "Just missed" not in one.out


def test_one_block_is_explained_by_its_short_id(noted: Shell) -> None:
    found = noted("recall", QUESTION, "--json").document
    block = found["block_ids"][0]
    (only,) = noted("explain", found["decision_id"], block[:8], "--json").document["blocks"]
    assert only["block_id"] == block


def test_why_not_says_by_how_much_a_block_ranked_too_low(noted: Shell) -> None:
    found = noted("recall", QUESTION, "--frame", "attention", "--top-k", "1", "--json").document
    other = next(each["id"] for each in found["dropped"] if each["reason"] == "top_k")
    shown = noted("why-not", found["decision_id"], other[:8])
    assert "top_k" in shown.out
    assert "short of the last returned" in shown.out


def test_an_unknown_decision_cannot_be_explained(noted: Shell) -> None:
    assert noted("explain", "d999").exit == 1
