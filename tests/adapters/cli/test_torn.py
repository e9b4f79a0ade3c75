"""A store that ends before what was acknowledged, on the command line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mnemic.adapters.inprocess import SyncMemory

Shell = Callable[..., Any]
MISSING = "1 event cannot be found that had been acknowledged"


@pytest.fixture
def torn(noted: Shell, store: Path) -> Shell:
    """A command line whose store was put back as it was before the last of its facts."""
    older = store.read_bytes()
    assert noted("learn", "the crane needs oil").exit == 0
    store.write_bytes(older)
    return noted


def heads(store: Path) -> Path:
    return store.with_name(f"{store.name}.heads")


def test_doctor_names_what_is_missing_and_how_to_go_on_without_it(torn: Shell, store: Path) -> None:
    noted = torn("doctor", "--json")
    assert noted.exit == 1
    (found,) = (each for each in noted.document["findings"] if each["state"] == "problem")
    assert (found["about"], found["what"]) == ("space default", "log")
    assert MISSING in found["detail"]
    assert f"delete {heads(store).name}" in found["remedy"]


@pytest.mark.parametrize("tokens", [["status"], ["blocks"], ["log"]], ids=lambda tokens: tokens[0])
def test_what_is_left_is_shown_with_a_warning(torn: Shell, tokens: list[str]) -> None:
    noted = torn(*tokens)
    assert noted.exit == 0
    assert MISSING in noted.err


def test_nothing_is_written_before_the_user_decides(torn: Shell, store: Path) -> None:
    noted = torn("learn", "the crane has oil", "--json")
    assert (noted.exit, noted.error["code"]) == (4, "log-corrupt")
    assert noted.error["acknowledged"] == noted.error["version"]
    assert f"delete {heads(store).name}" in noted.error["recovery"]
    heads(store).unlink()
    assert torn("learn", "the crane has oil").exit == 0
    assert torn("verify").exit == 0
    assert torn("doctor").exit == 0


def test_what_is_left_can_be_saved(torn: Shell, store: Path) -> None:
    saved = store.with_name("saved.db")
    noted = torn("salvage", str(store), str(saved))
    assert noted.exit == 4
    assert "lost 1 event at least" in noted.out
    with SyncMemory.open(saved, read_only=True) as memory:
        assert memory.verify().sound


def test_a_space_that_is_lost_as_a_whole_is_named(noted: Shell, store: Path) -> None:
    older = store.read_bytes()
    assert noted("--space", "second", "learn", "the crane needs oil").exit == 0
    store.write_bytes(older)
    found = noted("doctor", "--json")
    lost = "1 space with 3 events cannot be found"
    assert [
        (each["about"], each["what"])
        for each in found.document["findings"]
        if each["state"] == "problem" and lost in each["detail"]
    ] == [("store", "lost"), ("space default", "log")]
    again = noted("--space", "second", "learn", "the crane needs oil", "--json")
    assert (again.exit, again.error["code"]) == (4, "log-corrupt")
    saved = noted("salvage", str(store), str(store.with_name("saved.db")))
    assert saved.exit == 4
    assert lost in saved.out.replace("\n", " ")
