"""erase-space: only after confirmation."""

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
    """Run the command in a terminal where an answer is typed."""
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


def test_without_a_terminal_nothing_is_asked_or_erased(noted: Shell) -> None:
    refused = noted("erase-space", "--json")
    assert (refused.exit, refused.error["code"]) == (1, "not-confirmed")
    assert None not in words(noted)


def test_typing_the_name_of_the_space_erases_its_texts(noted: Shell, store: Path) -> None:
    assert answered(store, "default") == 0
    assert words(noted) == [None, None, None]


def test_another_answer_keeps_the_texts(noted: Shell, store: Path) -> None:
    assert answered(store, "yes") == 1
    assert None not in words(noted)


def test_another_name_is_refused(noted: Shell) -> None:
    refused = noted("erase-space", "--confirm", "notes", "--json")
    assert (refused.exit, refused.error["field"]) == (1, "confirm")
    assert None not in words(noted)


def test_a_name_given_as_an_option_is_not_asked_and_the_log_still_verifies(noted: Shell) -> None:
    receipt = noted("erase-space", "--confirm", "default", "--json").document
    assert receipt["block_ids"] == []
    assert words(noted) == [None, None, None]
    assert noted("verify").exit == 0
    assert noted("learn", "Anything.", "--json").error["code"] == "space-erased"
