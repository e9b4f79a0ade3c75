"""Completion scripts: whole, and aware of every command."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from tests.adapters.cli.conftest import Shell

pytestmark = pytest.mark.extended

OFFER = """
COMP_WORDS=(mnemic "$@"); COMP_CWORD=$#; _mnemic; echo "${COMPREPLY[@]}"
"""
BASH = shutil.which("bash")
needs_bash = pytest.mark.skipif(BASH is None, reason="there is no bash")


def offered(script: str, *words: str) -> list[str]:
    """Return what a bash that has read a script offers for the last word."""
    done = subprocess.run(
        ["bash", "-s", "--", *words],  # noqa: S607 - any bash will do
        input=f"{script}\n{OFFER}",
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


@needs_bash
def test_bash_finds_no_fault_with_the_script(shell: Shell) -> None:
    script = shell("completion", "bash").out
    done = subprocess.run(
        ["bash", "-n"],  # noqa: S607 - any bash will do
        input=script,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""


@needs_bash
@pytest.mark.parametrize(
    ("words", "offer"),
    [
        (("fro",), ["frontier"]),
        (("dream",), []),
        (("--js",), ["--json"]),
        (("--db", "other.db", "learn", "--ta"), ["--tag"]),
        (("checkpoints", ""), ["list", "make", "drop"]),
        (("as-of", "--ho"), ["--hour"]),
        (("as-of", "--version", "3", "time"), ["timeline"]),
        (("as-of", "--version", "3", "recall", "--fr"), ["--frame"]),
    ],
)
def test_bash_offers_commands_options_and_values(
    shell: Shell, words: tuple[str, ...], offer: list[str]
) -> None:
    assert offered(shell("completion", "bash").out, *words) == offer


@pytest.mark.parametrize(("name", "begins"), [("zsh", "#compdef mnemic"), ("fish", "#")])
def test_other_shells_get_scripts_of_their_own(shell: Shell, name: str, begins: str) -> None:
    answer = shell("completion", name)
    assert answer.exit == 0
    assert answer.out.startswith(begins)
    assert "near-duplicates" in answer.out


def test_a_script_changes_nothing_about_the_commands(shell: Shell) -> None:
    before = shell("help", "all").out
    shell("completion", "bash")
    assert shell("help", "all").out == before


def test_an_unknown_shell_is_refused(shell: Shell) -> None:
    failed = shell("completion", "ksh", "--json")
    assert (failed.exit, failed.error["code"]) == (2, "usage")
