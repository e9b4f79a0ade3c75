"""Refusals in the terms of a model: every recovery of the library, in tools and arguments."""

from __future__ import annotations

import re

import pytest

from mnemic.adapters.mcp.tools import reaching, tools
from mnemic.adapters.mcp.wording import MISSING, for_model
from mnemic.adapters.remote.errors import known

CALL = re.compile(rf"\b({'|'.join(reaching())})\(")


def worded(text: str, offered: tuple[str, ...] | None = None) -> str:
    """Return a recovery as a model reads it; all tools are offered by default."""
    found = for_model({"recovery": text}, tools() if offered is None else offered)
    return str(found["recovery"])


@pytest.mark.parametrize("code", sorted(known()))
def test_no_recovery_names_a_call_in_python(code: str) -> None:
    assert CALL.search(worded(known()[code].default_recovery)) is None


@pytest.mark.parametrize(
    ("said", "read"),
    [
        ("Use an id from compose().", "Use an id from mnemic_compose with operation compose."),
        (
            "Report with outcome(decision_id=..., ...) which served.",
            "Report with mnemic_outcome with decision_id which served.",
        ),
        ("Call guide('label').", "Call mnemic_guide with name label."),
        ("Use if_exists='reinforce' or 'skip'.", "Use if_exists reinforce or 'skip'."),
        ("`mnemic log` lists them.", "mnemic_look with operation log lists them."),
        ("Run `mnemic salvage`.", "Run `mnemic salvage`."),
        ("Repeat with the same Idempotency-Key.", "Repeat with the same command_id."),
        ("content must be text, got NoneType", "content must be text, got null"),
        ("The fact that you recall (or not).", "The fact that you recall (or not)."),
        ("memory.recall() is Python.", "memory.recall() is Python."),
    ],
)
def test_calls_become_tools_with_arguments(said: str, read: str) -> None:
    assert worded(said) == read


def test_a_tool_that_is_not_in_the_list_is_marked() -> None:
    offered = ("mnemic_recall",)
    assert worded("Run recall().", offered) == "Run mnemic_recall."
    assert worded("Call guide('label'), then stop.", offered) == (
        f"Call mnemic_guide with name label {MISSING}, then stop."
    )


def test_other_facts_are_left_alone() -> None:
    document = {"code": "x", "detail": "learn needs content", "field": "learn needs content"}
    assert for_model(document, tools()) == {**document, "detail": "mnemic_learn needs content"}
