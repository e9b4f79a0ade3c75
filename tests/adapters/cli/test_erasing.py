"""erase and erase-space: only after confirmation."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.adapters.cli.conftest import Shell

pty = pytest.importorskip("pty")

PROGRAM = "import sys; from mnemic.adapters.cli import main; sys.exit(main())"


def answered(store: Path, answer: str, *command: str) -> int:
    """Run the command in a terminal where an answer is typed."""
    keyboard, terminal = pty.openpty()
    try:
        os.write(keyboard, f"{answer}\n".encode())
        return subprocess.run(
            [sys.executable, "-c", PROGRAM, "--db", str(store), *command],
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


def first(shell: Shell) -> str:
    """Return the short id of the first block."""
    block: str = shell("blocks", "--json").document["items"][0]["id"][:8]
    return block


def test_a_block_is_erased_once_its_erasure_is_confirmed(noted: Shell, store: Path) -> None:
    block = first(noted)
    assert answered(store, "erase", "erase", block) == 0
    assert words(noted)[0] is None
    assert None not in words(noted)[1:]


@pytest.mark.parametrize("answer", ["", "yes", "no"])
def test_any_other_answer_keeps_the_block(noted: Shell, store: Path, answer: str) -> None:
    assert answered(store, answer, "erase", first(noted)) == 1
    assert None not in words(noted)


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_a_script_has_to_say_yes(noted: Shell, options: tuple[str, ...]) -> None:
    refused = noted("erase", first(noted), *options)
    assert (refused.exit, refused.out) == (1, "")
    assert "give --yes" in refused.err
    assert None not in words(noted)
    assert noted("erase", first(noted), "--yes", *options).exit == 0


def test_a_block_that_is_not_there_is_refused_before_anything_is_asked(noted: Shell) -> None:
    assert noted("erase", "abcdef01", "--json").error["code"] == "block-not-found"
    assert noted("erase", "--json").error["code"] == "usage"


def test_without_a_terminal_nothing_is_asked_or_erased(noted: Shell) -> None:
    refused = noted("erase-space", "--json")
    assert (refused.exit, refused.error["code"]) == (1, "not-confirmed")
    assert None not in words(noted)


def test_typing_the_name_of_the_space_erases_its_texts(noted: Shell, store: Path) -> None:
    assert answered(store, "default", "erase-space") == 0
    assert words(noted) == [None, None, None]


def test_another_answer_keeps_the_texts(noted: Shell, store: Path) -> None:
    assert answered(store, "yes", "erase-space") == 1
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
