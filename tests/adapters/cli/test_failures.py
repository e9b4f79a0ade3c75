"""Exit codes, and errors that say what to do next."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mnemic.adapters.cli import main, warning_line
from mnemic.adapters.cli.invocation.failures import Exit, failure
from mnemic.kernel import errors

Shell = Callable[..., Any]


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (errors.ContentEmpty("empty"), Exit.REFUSED),
        (errors.EdgeExists("there"), Exit.REFUSED),
        (errors.CommandIdReused("again"), Exit.CONFLICT),
        (errors.VersionConflict("late"), Exit.CONFLICT),
        (errors.LogCorrupt("bad", version=3), Exit.CORRUPT),
        (errors.NotAStore("other"), Exit.CORRUPT),
        (errors.StoreFull("full"), Exit.UNAVAILABLE),
        (errors.StoreTooNew("new"), Exit.UNAVAILABLE),
        (ZeroDivisionError("ours"), Exit.INTERNAL),
    ],
)
def test_each_family_has_its_exit_code(error: Exception, expected: Exit) -> None:
    assert failure(error).exit == expected


def test_an_error_reads_as_code_what_and_what_to_do(noted: Shell) -> None:
    failed = noted("block", "abcdef0123456789")
    assert (failed.exit, failed.out) == (1, "")
    assert failed.err.splitlines() == [
        "error block-not-found: no block has the id 'abcdef0123456789'",
        "Use an id from recall(), learn() or blocks(); run recall() to find one.",
    ]


def test_an_error_is_one_json_document_if_asked_for(noted: Shell) -> None:
    failed = noted("block", "abcdef0123456789", "--json")
    assert failed.error == {
        "code": "block-not-found",
        "detail": "no block has the id 'abcdef0123456789'",
        "recovery": "Use an id from recall(), learn() or blocks(); run recall() to find one.",
        "block_id": "abcdef0123456789",
    }


@pytest.mark.parametrize(
    ("tokens", "help_of"),
    [
        (["bogus"], "mnemic"),
        (["recall", "two", "words"], "mnemic recall"),
        (["recall", "--bogus"], "mnemic recall"),
        (["outcome", "abc"], "mnemic outcome"),
        (["as-of", "--hour", "noon"], "mnemic as-of"),
        (["as-of", "--version", "1", "bogus"], "mnemic as-of"),
        (["as-of", "--version", "1", "recall", "--bogus"], "mnemic as-of recall"),
        (["revert", "1.5", "2"], "mnemic revert"),
        (["revert", "1", "2e0"], "mnemic revert"),
        (["fork", "trial", "--version", "2.5"], "mnemic fork"),
        (["export", "log.ndjson", "--upto", "0x3"], "mnemic export"),
        (["replay", "--all", "--after", "1.2"], "mnemic replay"),
        (["as-of", "--version", "1.5", "status"], "mnemic as-of"),
    ],
)
def test_a_wrong_command_line_exits_with_2_and_points_to_help(
    shell: Shell, tokens: list[str], help_of: str
) -> None:
    failed = shell(*tokens, "--json")
    assert (failed.exit, failed.error["code"]) == (2, "usage")
    assert failed.error["recovery"].startswith(f"Run `{help_of} --help`.")


def test_a_warning_of_a_library_has_no_place_in_the_code() -> None:
    line = warning_line("no graph is made", RuntimeWarning, "graphs.py", 176)
    assert line == "warning no graph is made\n"


def test_a_text_without_quotes_is_refused_with_that_remedy(shell: Shell) -> None:
    failed = shell("learn", "The", "demo", "moved", "--json")
    assert failed.error["detail"] == "More words than it takes, from 'demo' on."
    assert failed.error["recovery"].endswith("Put a text of several words in quotes.")


@pytest.mark.parametrize(
    "tokens",
    [
        ["learn", "  "],
        ["learn", "x", "--confidence", "2"],
        ["learn", "x", "--metadata", "nothing"],
        ["learn", "x", "--created-at", "someday"],
        ["recall", "x", "--frame", "bogus"],
        ["recall", "x", "--top-k", "0"],
        ["recall", "x", "--where", "colour=red"],
        ["recall", "x", "--where", "since=2026-01-01", "--where", "since=2026-01-02"],
        ["outcome", "--signal", "1.0"],
        ["outcome", "--decision", "d1", "--signal", "1.0"],
        ["log", "--limit", "0"],
        ["log", "--after", "1", "--of", "abcdef0123456789"],
        ["blocks", "--status", "lost"],
        ["block", "abc"],
    ],
)
def test_a_refused_command_exits_with_1_and_writes_nothing(noted: Shell, tokens: list[str]) -> None:
    before = noted("status", "--json").document["version"]
    failed = noted(*tokens, "--json")
    assert failed.exit == 1
    assert failed.error["recovery"]
    assert noted("status", "--json").document["version"] == before


COMMANDS = (
    ["status"],
    ["blocks"],
    ["block", "abcdef0123456789"],
    ["log"],
    ["verify"],
    ["replay", "d1"],
    ["as-of", "--version", "1"],
    ["recall", "x"],
    ["outcome", "abcdef0123456789", "--signal", "1"],
    ["connect", "abcdef0123456789", "bbcdef0123456789"],
    ["disconnect", "abcdef0123456789", "bbcdef0123456789"],
    ["revise", "abcdef0123456789", "x"],
    ["forget", "abcdef0123456789"],
    ["erase", "abcdef0123456789"],
    ["rezone", "abcdef0123456789", "external"],
    ["erase-space", "--confirm", "default"],
    ["edges", "abcdef0123456789"],
    ["history"],
    ["near-duplicates"],
    ["composed-graph", "recent"],
    ["session", "end"],
    ["consolidate"],
    ["curate"],
)


@pytest.mark.parametrize("tokens", COMMANDS, ids=lambda tokens: tokens[0])
def test_only_ingest_and_learn_make_a_store(shell: Shell, store: Path, tokens: list[str]) -> None:
    failed = shell(*tokens, "--json")
    assert (failed.exit, failed.error["code"]) == (5, "store-failed")
    assert "mnemic learn" in failed.error["recovery"]
    assert list(store.parent.iterdir()) == []


LONG = "n" * 300
"""More than any file may be called."""


@pytest.mark.parametrize(
    "tokens",
    [
        ["export", LONG],
        ["fork", "trial", "--into", LONG],
        ["import", LONG],
        ["backtest", LONG],
        ["backtest", "--plot", f"{LONG}.svg"],
        ["verify", "--receipt", LONG],
    ],
    ids=lambda tokens: tokens[0],
)
def test_an_invalid_file_name_is_not_an_internal_error(noted: Shell, tokens: list[str]) -> None:
    failed = noted(*tokens, "--json")
    assert (failed.exit, bool(failed.error["recovery"])) == (5, True)


@pytest.mark.parametrize("tokens", [["status"], ["learn", "x"]], ids=lambda tokens: tokens[0])
def test_a_store_of_such_a_name_is_not_there(
    tokens: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--db", LONG, *tokens, "--json"]) == 5
    assert json.loads(capsys.readouterr().err)["code"] == "store-failed"


@pytest.mark.parametrize("path", [".", "/"])
def test_an_export_to_a_folder_is_refused(noted: Shell, path: str) -> None:
    assert noted("export", path, "--json").error["code"] == "field-refused"
    assert noted("import", path, "--json").exit == 5


@pytest.mark.parametrize("tokens", [["status"], ["recall", "x"]], ids=lambda tokens: tokens[0])
def test_a_space_that_is_not_there_is_refused_and_not_made(noted: Shell, tokens: list[str]) -> None:
    failed = noted("--space", "other", *tokens, "--json")
    assert (failed.exit, failed.error["code"]) == (1, "space-not-found")
    assert failed.error["recovery"] == "Name one with --space; the file has: default."


def test_spaces_of_one_file_are_kept_apart(noted: Shell) -> None:
    assert noted("--space", "other", "learn", "Something else.").exit == 0
    assert noted("--space", "other", "status", "--json").document["inbox"] == 1
    assert noted("status", "--json").document["inbox"] == 0


@pytest.mark.parametrize("tokens", [["status"], ["learn", "x"]], ids=lambda tokens: tokens[0])
def test_a_file_that_is_no_store_is_left_as_it_is(
    shell: Shell, store: Path, tokens: list[str]
) -> None:
    store.write_text("a shopping list\n" * 100)
    failed = shell(*tokens, "--json")
    assert (failed.exit, failed.error["code"]) == (4, "not-a-store")
    assert store.read_text() == "a shopping list\n" * 100


def test_a_short_id_must_be_that_of_one_block_only(shell: Shell) -> None:
    assert shell("learn", "Thursday.").exit == 0
    block = shell("blocks", "--json").document["items"][0]["id"]
    assert shell("block", f"[{block[:8].upper()}…]", "--json").document["id"] == block
    assert shell("block", "00000000", "--json").error["code"] == "block-not-found"


@pytest.mark.usefixtures("noted")
def test_a_closed_pipe_ends_quietly(store: Path) -> None:
    program = "import sys; from mnemic.adapters.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", program, "log", "--after", "-1", "--json"]
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        command,
        stdout=write,
        stderr=subprocess.PIPE,
        env={**os.environ, "MNEMIC_DB": str(store)},
        check=False,
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.usefixtures("noted")
def test_a_pipe_gets_no_colours_and_no_bars(store: Path, notes: Path) -> None:
    program = "import sys; from mnemic.adapters.cli import main; sys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-c", program, "ingest", str(notes)],
        capture_output=True,
        env={**os.environ, "MNEMIC_DB": str(store)},
        check=True,
    )
    assert (done.stdout, done.stderr) == (b"Learned in 1 session: 3 known already.\n", b"")
