"""erase-space: only for whoever is sure."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.adapters.cli.conftest import Shell

pty = pytest.importorskip("pty")

PROGRAM = "import sys; from mnemic.adapters.cli import main; sys.exit(main())"


def answered(store: Path, answer: str) -> int:
    """Run the command in a terminal where somebody types an answer."""
    keyboard, terminal = pty.openpty()
    try:
        os.write(keyboard, f"{answer}\n".encode())
        return subprocess.run(
            [sys.executable, "-c", PROGRAM, "--db", str(store), "erase-space"],
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            check=False,
        ).returncode
    finally:
        os.close(terminal)
        os.close(keyboard)


def words(shell: Shell) -> list[str | None]:
    return [block["content"] for block in shell("blocks", "--json").document["items"]]


def test_nobody_is_asked_who_is_not_there(told: Shell) -> None:
    refused = told("erase-space", "--json")
    assert (refused.exit, refused.error["code"]) == (1, "not-confirmed")
    assert None not in words(told)


def test_a_space_that_is_named_on_the_terminal_loses_its_words(told: Shell, store: Path) -> None:
    assert answered(store, "default") == 0
    assert words(told) == [None, None, None]


def test_another_answer_keeps_them(told: Shell, store: Path) -> None:
    assert answered(store, "yes") == 1
    assert None not in words(told)


def test_yes_does_not_ask_and_the_log_still_verifies(told: Shell) -> None:
    receipt = told("erase-space", "--yes", "--json").document
    assert receipt["block_id"] is None
    assert words(told) == [None, None, None]
    assert told("verify").exit == 0
    assert told("learn", "Anything.", "--json").error["code"] == "space-erased"
