"""Help texts of the command line, and their loading time."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import pytest

from mnemic.adapters.cli import overview
from mnemic.adapters.cli.application import FLAGS
from mnemic.adapters.cli.invocation.options import VALUED, variable

Shell = Callable[..., Any]

COMMANDS = """
ingest learn learn-many revise rezone forget erase erase-space recall reference outcome connect
connects connect-by-query disconnect pending-connections compose label retract-label ledger
composition composed-with frontier composed-graph status blocks block edges log history guide
compare analogies near-duplicates explain why-not replay timeline diff as-of what-if backtest tune
policy receipt export import fork backup restore salvage migrate consolidate curate verify
checkpoints doctor revert reembed session spaces token completion help
""".split()
HIDDEN = """
adopt-policy checkpoint deep-reference dream drop-checkpoints end-session import-space replay-all
start-session verify-receipt
""".split()
SLOW = ("numpy", "scipy", "eventsourcing", "wordllama", "mnemic.adapters.inprocess")


EVERYDAY = [name for commands in overview.EVERYDAY.values() for name in commands]
HEIGHT, WIDTH = 23, 80
"""Of a terminal, less the line of its prompt."""


@pytest.mark.parametrize("asked", [(), ("--help",), ("-h",), ("help",), ("--space", "x", "--help")])
def test_the_first_screen_fits_a_terminal(shell: Shell, asked: tuple[str, ...]) -> None:
    lines = shell(*asked).out.splitlines()
    assert lines[0] == "Usage: mnemic COMMAND [OPTIONS]"
    assert len(lines) <= HEIGHT
    assert max(map(len, lines)) <= WIDTH


def test_the_commands_of_every_day_are_twelve_and_each_exists() -> None:
    assert len(EVERYDAY) == 12
    assert {*EVERYDAY} <= {*COMMANDS}


def test_help_all_names_every_command_and_an_example(shell: Shell) -> None:
    answer = shell("help", "all").out
    assert [command for command in COMMANDS if f" {command} " not in answer] == []
    assert 'mnemic recall "When is the demo?"' in answer


def test_help_options_explains_those_of_every_command_and_the_exit_codes(shell: Shell) -> None:
    answer = shell("help", "options").out
    assert [option for option in (*VALUED, *FLAGS) if f" {option} " not in answer] == []
    assert [option for option in VALUED if variable(option) not in answer] == []
    assert "4   damage" in answer


def test_help_does_not_name_a_command_twice(shell: Shell) -> None:
    answer = shell("help", "all").out
    assert [command for command in HIDDEN if f" {command} " in answer] == []


@pytest.mark.parametrize("asked", [("help", "nope"), ("nope", "--help"), ("help", "session", "no")])
def test_help_on_no_command_is_refused(shell: Shell, asked: tuple[str, ...]) -> None:
    refused = shell(*asked)
    assert (refused.exit, refused.out) == (2, "")
    assert "Unknown command" in refused.err


@pytest.mark.parametrize("command", [*COMMANDS, *HIDDEN])
def test_every_command_explains_itself_and_its_options(shell: Shell, command: str) -> None:
    answer = shell(command, "--help")
    assert answer.exit == 0
    assert answer.out.startswith(f"Usage: mnemic {command}")
    assert answer.out.endswith(f"{overview.FOLDED}\n")
    assert "MNEMIC_DB" not in answer.out


def test_a_command_can_be_asked_about_with_help(shell: Shell) -> None:
    assert shell("help", "session", "end").out == shell("session", "end", "--help").out


def test_the_help_of_ingest_explains_dates(shell: Shell) -> None:
    assert "Active hours come from this machine's clock" in " ".join(
        shell("ingest", "--help").out.split()
    )


def test_version_is_that_of_the_distribution(shell: Shell) -> None:
    assert shell("--version").out == f"{version('mnemic')}\n"


def test_the_package_is_run_as_the_program_is() -> None:
    command = [sys.executable, "-m", "mnemic", "learn"]
    refused = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "TEXT requires an argument" in refused.stderr


def test_no_arguments_show_help(shell: Shell) -> None:
    answer = shell()
    assert answer.exit == 0
    assert answer.out.startswith("Usage: mnemic")


@pytest.mark.parametrize("asked", [["--help"], ["help", "all"]])
def test_help_loads_nothing_slow(asked: list[str]) -> None:
    """Loading is what takes time; measuring time would judge the machine."""
    program = (
        f"import sys; from mnemic.adapters.cli import main; main({asked!r}); "
        f"sys.stderr.write(' '.join(name for name in {SLOW!r} if name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stderr.decode() == ""
