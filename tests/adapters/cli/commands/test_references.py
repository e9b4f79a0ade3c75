"""reference: what was weighed, for a person and as JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Shell = Callable[..., Any]


@pytest.fixture
def torn(shell: Shell) -> Shell:
    """A store that holds two memories that cannot both be true."""
    for content in ("The demo is on Thursday.", "The demo is on Friday."):
        assert shell("learn", content).exit == 0
    return shell


def test_a_claim_is_compared_with_memory(torn: Shell) -> None:
    shown = torn("reference", "Is it true that the demo is on Monday?").out
    assert shown.startswith("claim contradicts memory")
    assert [line.strip() for line in shown.splitlines() if line.endswith(":")] == [
        "Against the claim:",
        "Cannot both be true:",
    ]
    assert "monday against friday" in shown


def test_the_evidence_is_recorded_by_default(torn: Shell) -> None:
    asked = torn("reference", "When is the demo?", "--no-record", "--json").document
    assert (asked["composition_id"], asked["composition_write_status"]) == (None, "not_recorded")
    asked = torn("reference", "When is the demo?", "--depth", "500", "--json").document
    assert asked["composition_write_status"] == "persisted"
    assert [each["kind"] for each in asked["contradictions"]] == ["edge"]


def test_an_empty_reference_is_reported(torn: Shell) -> None:
    shown = torn("reference", "How is quantum chromodynamics taught?").out
    assert shown.splitlines()[0].startswith("no memories")
    assert "skipped empty" in shown


def test_a_blank_question_is_refused(torn: Shell) -> None:
    asked = torn("reference", " ", "--json")
    assert (asked.exit, asked.error["code"]) == (1, "field-refused")


def test_a_reference_to_the_past_is_rendered_alike(torn: Shell) -> None:
    torn("consolidate")
    version = torn("status", "--json").document["version"]
    torn("learn", "The demo is on Monday.")
    torn("consolidate")
    now = torn("reference", "When is the demo?", "--json").document
    then = torn("as-of", "--version", str(version), "reference", "When is the demo?", "--json")
    assert [len(each["contradictions"]) for each in (now, then.document)] == [3, 1]
