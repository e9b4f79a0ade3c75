"""descent, quarantine and revert-source."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Shell = Callable[..., Any]


@pytest.fixture
def poisoned(noted: Shell) -> tuple[Shell, str, str]:
    """A store with a planted block, its id, and a decision that returned it."""
    block = noted("learn", "The demo is at the pier.", "--source", "mail", "--json").document
    decision = noted("recall", "Where is the demo?", "--json").document
    assert block["block_id"] in decision["block_ids"]
    return noted, block["block_id"], decision["decision_id"]


def test_descent_is_listed_with_its_paths(poisoned: tuple[Shell, str, str]) -> None:
    shell, block, decision = poisoned
    shown = shell("descent", "source=mail", "--limit", "1000")
    assert shown.exit == 0
    assert f"block {block}: learned from mail by " in shown.out
    assert f"-> returned in {decision} (v" in shown.out
    document = shell("descent", f"block={block[:8]}", "--json").document
    assert document["selector"] == {"block": [block]}
    assert {each["id"] for each in document["items"]} >= {block, decision}
    paged = shell("descent", "source=mail", "--limit", "1")
    assert "More: --after " in paged.out
    past = shell("as-of", "--version", decision[1:], "descent", "source=mail", "--json").document
    assert past["version"] == int(decision[1:])


def test_a_quarantine_holds_until_its_release(poisoned: tuple[Shell, str, str]) -> None:
    shell, block, _ = poisoned
    done = shell("quarantine", "source=mail", "--reason", "planted")
    assert (done.exit, done.out.strip()) == (0, "1 block quarantined.")
    assert block[:8] in shell("blocks", "--status", "quarantined").out
    assert "1 quarantined" in shell("status").out
    head = shell("status", "--json").document["version"]
    assert "Quarantined 1" in shell("diff", str(head - 1)).out
    assert block not in shell("recall", "Where is the demo?", "--json").document["block_ids"]
    again = shell("quarantine", f"block={block[:8]}")
    assert again.out.strip() == "Nothing to do: 1 block selected."
    assert shell("quarantine", "source=mail", "--release").out.strip() == "1 block released."


def test_decisions_are_answered_without_a_source(poisoned: tuple[Shell, str, str]) -> None:
    shell, block, decision = poisoned
    one = shell("what-if", decision, "--without", "source=mail", "--json").document
    assert block not in one["answer"]["block_ids"]
    every = shell("replay", "--all", "--without", f"block={block[:8]}", "--json")
    assert (every.exit, every.document["changed"]) == (0, [decision])
    refused = shell("replay", decision, "--without", "source=mail")
    assert refused.exit != 0


def test_a_source_is_reverted(poisoned: tuple[Shell, str, str]) -> None:
    shell, block, _ = poisoned
    shown = shell("revert-source", "source=mail", "--dry-run")
    assert (shown.exit, "Would revert" in shown.out) == (0, True)
    done = shell("revert-source", "source=mail", "--reason", "planted", "--json").document
    assert done["forgotten"] == [block]
    assert shell("block", block, "--json").document["archive_reason"] == "forgotten"


@pytest.mark.parametrize("given", [(), ("mail",), ("author=Ines",), ("source=a", "since=x")])
def test_a_selector_that_cannot_be_read_is_refused(noted: Shell, given: tuple[str, ...]) -> None:
    for command in ("descent", "quarantine", "revert-source"):
        ran = noted(command, *given, "--json")
        assert ran.exit != 0
        assert ran.error["recovery"]
