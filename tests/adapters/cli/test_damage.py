"""A damaged log on the command line: found, named, and readable before it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

Shell = Callable[..., Any]

DAMAGES = {
    "changed": "UPDATE stored_events SET state = state || x'00' WHERE originator_version = 5",
    "removed": "DELETE FROM stored_events WHERE originator_version = 5",
    "cut": "DELETE FROM stored_events WHERE originator_version >= 5",
}
"""Versions count from 1 in the library's table: each of these is version 4 of ours, or 5."""


@pytest.fixture(params=DAMAGES)
def damaged(request: pytest.FixtureRequest, noted: Shell, store: Path) -> Shell:
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute(DAMAGES[request.param])
    return noted


def test_verify_names_the_first_bad_version_and_exits_with_4(damaged: Shell) -> None:
    noted = damaged("verify", "--json")
    assert noted.exit == 4
    assert (noted.document["sound"], noted.document["first_bad_version"]) == (False, 5)


@pytest.mark.parametrize(
    "tokens",
    [["status"], ["blocks"], ["log"], ["as-of", "--version", "3"]],
    ids=lambda tokens: tokens[0],
)
def test_the_log_before_the_damage_can_be_read(damaged: Shell, tokens: list[str]) -> None:
    noted = damaged(*tokens)
    assert noted.exit == 0
    assert "the log is damaged at version 5" in noted.err


@pytest.mark.parametrize(
    "tokens", [["learn", "x"], ["recall", "x"], ["curate"]], ids=lambda tokens: tokens[0]
)
def test_nothing_is_written_after_damage(damaged: Shell, tokens: list[str]) -> None:
    noted = damaged(*tokens, "--json")
    assert (noted.exit, noted.error["code"]) == (4, "log-corrupt")
    assert "mnemic verify" in noted.error["recovery"]


@pytest.mark.parametrize("command", ["verify", "status", "log", "curate"])
def test_a_log_whose_first_event_is_damaged_is_damaged_and_not_empty(
    noted: Shell, store: Path, command: str
) -> None:
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute("DELETE FROM stored_events WHERE originator_version < 2")
    found = noted(command, "--json")
    assert (found.exit, found.error["code"]) == (4, "log-corrupt")
    assert found.error["detail"].startswith("the log is damaged at version ")


def test_a_payload_that_vanished_is_found(noted: Shell, store: Path) -> None:
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute("DELETE FROM contents WHERE id = (SELECT max(content) FROM payloads)")
    found = noted("verify", "--json")
    assert found.exit == 4
    assert "lacks 1 payload" in found.document["problem"]
