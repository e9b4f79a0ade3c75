"""Command ids: a repeated command gets the same answer, and is written once."""

from __future__ import annotations

import pytest

from tests.adapters.cli.conftest import Shell

WRITING = {
    "learn": ("Friday.",),
    "rezone": ("{0}", "external"),
    "revise": ("{0}", "The demo is on Friday."),
    "forget": ("{0}",),
    "erase": ("{0}", "--yes"),
    "connect": ("{0}", "{1}", "supports"),
    "outcome": ("{0}", "--signal", "0.9"),
    "compose": ("{0}", "{1}"),
    "recall": ("demo",),
    "reference": ("When is the demo?",),
}


@pytest.mark.parametrize("command", WRITING)
def test_a_command_repeated_with_an_id_is_written_once(noted: Shell, command: str) -> None:
    ids = [block["id"][:8] for block in noted("blocks", "--json").document["items"]]
    words = (command, *(word.format(*ids) for word in WRITING[command]))
    first = noted(*words, "--command-id", "mine", "--json")
    version = noted("status", "--json").document["version"]
    again = noted(*words, "--command-id", "mine", "--json")
    assert (first.exit, again.document) == (0, first.document)
    assert noted("status", "--json").document["version"] == version


def test_a_command_id_cannot_be_reused_for_another_request(noted: Shell) -> None:
    assert noted("learn", "Friday.", "--command-id", "mine").exit == 0
    failed = noted("learn", "Sunday.", "--command-id", "mine", "--json")
    assert (failed.exit, failed.error["code"]) == (3, "command-id-reused")
