"""Stores as a whole on the command line: migrate, backup, restore, salvage."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from mnemic.adapters.cli import main
from mnemic.adapters.files.temporary_folders import LOCK
from tests.adapters.cli.conftest import Ran, Shell


@pytest.fixture
def two(noted: Shell) -> Shell:
    """A command line whose store holds two spaces."""
    assert noted("--space", "work", "learn", "The invoice is due.").exit == 0
    return noted


@pytest.fixture
def at(capsys: pytest.CaptureFixture[str]) -> Shell:
    """Run a command on the store that is named first."""

    def run(*tokens: str) -> Ran:
        exit_code = main(["--db", *tokens])
        printed = capsys.readouterr()
        return Ran(exit_code, printed.out, printed.err)

    return run


def change(store: Path, statement: str) -> None:
    with closing(sqlite3.connect(store)) as file, file:
        file.execute(statement)


def test_a_store_is_migrated_and_caught_up_with(
    two: Shell, at: Shell, store: Path, tmp_path: Path
) -> None:
    other = str(tmp_path / "other.db")
    dry = two("migrate", str(store), other, "--dry-run")
    assert (dry.exit, Path(other).exists()) == (0, False)
    assert "Would move 2 spaces" in dry.out
    first = two("migrate", str(store), other)
    assert first.exit == 0
    assert "Every chain and payload is the same in both." in first.out
    two("learn", "Another thing.")
    again = two("migrate", str(store), other, "--json")
    assert [(each["space"], each["copied"]) for each in again.document["spaces"]] == [
        ("default", 1),
        ("work", 0),
    ]
    heads = [at(db, "verify", "--json").document["head"] for db in (str(store), other)]
    assert heads[0] == heads[1]


def test_the_spaces_of_a_store_are_listed(two: Shell, store: Path) -> None:
    document = two("spaces", "--json").document
    assert document["store"] == str(store)
    names = [each["space"] for each in document["spaces"]]
    assert names == sorted(names)
    assert len(names) == 2
    version = two("--space", names[1], "status", "--json").document["version"]
    assert document["spaces"][1]["version"] == version
    assert two("--space", names[1], "spaces").out.splitlines()[1] == (
        f"* {names[1]}, version {version}"
    )
    assert "There is no space 'new' yet." in two("--space", "new", "spaces").out


def test_a_store_that_is_not_there_has_no_spaces(shell: Shell) -> None:
    assert shell("spaces", "--json").error["code"] == "store-failed"


def test_some_spaces_can_be_named(two: Shell, store: Path, tmp_path: Path) -> None:
    one, other = str(tmp_path / "one.db"), str(tmp_path / "other.db")
    first = two("migrate", str(store), one, "work", "--json").document
    second = two("--space", "work", "migrate", str(store), other, "--json").document
    assert [each["space"] for each in first["spaces"] + second["spaces"]] == ["work", "work"]
    assert two("migrate", str(store), one, "nowhere", "--json").error["code"] == ("space-not-found")


def test_a_diverged_target_is_refused(two: Shell, at: Shell, store: Path, tmp_path: Path) -> None:
    other = str(tmp_path / "other.db")
    two("migrate", str(store), other)
    at(other, "learn", "mine")
    refused = two("migrate", str(store), other, "--json")
    assert (refused.exit, refused.error["code"]) == (1, "space-exists")


def test_a_backup_is_made_checked_and_restored(
    two: Shell, at: Shell, store: Path, tmp_path: Path
) -> None:
    kept, back = str(tmp_path / "kept.db"), str(tmp_path / "back.db")
    made = two("backup", kept)
    assert made.exit == 0
    assert "Tokens and keys are not in it" in made.out
    assert two("backup", kept, "--json").error["code"] == "field-refused"
    checked = two("restore", kept, "--check", "--json")
    assert (checked.exit, checked.document["into"]) == (0, None)
    assert "Restored" in two("restore", kept, back).out
    assert at(back, "verify").exit == 0
    assert two("restore", kept, back, "--json").error["code"] == "field-refused"
    assert two("restore", kept).exit == 1
    assert two("restore", kept, back, "--check").exit == 1
    Path(kept).write_bytes(Path(kept).read_bytes() + b"\0")
    damaged = two("restore", kept, "--check", "--json")
    assert (damaged.exit, damaged.error["code"]) == (4, "backup-damaged")
    store.unlink()
    assert two("backup", str(tmp_path / "none.db")).exit == 5


def test_a_damaged_store_names_the_command_that_saves_it(
    noted: Shell, at: Shell, store: Path, tmp_path: Path
) -> None:
    change(store, "UPDATE stored_events SET topic = 'x' WHERE originator_version = 4")
    saved = str(tmp_path / "saved.db")
    assert "`mnemic salvage" in noted("learn", "more", "--json").error["recovery"]
    assert "mnemic salvage" in noted("doctor").out
    assert "`mnemic salvage" in noted("backup", str(tmp_path / "b.db"), "--json").error["recovery"]
    done = noted("salvage", str(store), saved)
    assert done.exit == 4
    assert "default: kept up to version 3, lost 5 events at least" in done.out
    assert at(saved, "verify").exit == 0
    assert at(saved, "learn", "and on").exit == 0
    assert noted("salvage", str(store), saved, "--json").error["code"] == "field-refused"
    whole = noted("salvage", saved, str(tmp_path / "whole.db"), "--json")
    assert (whole.exit, whole.document["spaces"][0]["lost"]) == (0, 0)


def test_doctor_reports_leftovers_of_killed_copies(noted: Shell, store: Path) -> None:
    for name in (".log.ndjson.x1.mnemic-part", ".other.db.mnemic-migration"):
        folder = store.with_name(name)
        folder.mkdir()
        (folder / LOCK).touch()
    findings = noted("doctor", "--json").document["findings"]
    left = [each for each in findings if each["what"] == "leftovers"]
    assert [each["state"] for each in left] == ["warning", "warning"]
    assert "mnemic-part contains texts" in left[0]["detail"]
    assert "mnemic migrate" in left[1]["remedy"]
