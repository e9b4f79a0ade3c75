"""Command ids: what is repeated under one is answered as it was, and written once."""

from __future__ import annotations

import pytest

from tests.adapters.cli.conftest import Shell

WRITING = {
    "learn": ("Friday.",),
    "rezone": ("{0}", "external"),
    "revise": ("{0}", "The demo is on Friday."),
    "forget": ("{0}",),
    "erase": ("{0}",),
    "connect": ("{0}", "{1}", "supports"),
    "outcome": ("{0}", "--signal", "0.9"),
    "compose": ("{0}", "{1}"),
    "recall": ("demo",),
    "reference": ("When is the demo?",),
}


@pytest.mark.parametrize("command", WRITING)
def test_what_is_repeated_under_an_id_is_written_once(told: Shell, command: str) -> None:
    ids = [block["id"][:8] for block in told("blocks", "--json").document["items"]]
    words = (command, *(word.format(*ids) for word in WRITING[command]))
    first = told(*words, "--command-id", "mine", "--json")
    version = told("status", "--json").document["version"]
    again = told(*words, "--command-id", "mine", "--json")
    assert (first.exit, again.document) == (0, first.document)
    assert told("status", "--json").document["version"] == version


def test_an_id_is_good_for_one_request(told: Shell) -> None:
    assert told("learn", "Friday.", "--command-id", "mine").exit == 0
    failed = told("learn", "Sunday.", "--command-id", "mine", "--json")
    assert (failed.exit, failed.error["code"]) == (3, "command-id-reused")
