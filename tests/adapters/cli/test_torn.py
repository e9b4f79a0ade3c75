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
def torn(told: Shell, store: Path) -> Shell:
    """A command line whose store was put back as it was before the last of its facts."""
    older = store.read_bytes()
    assert told("learn", "the crane needs oil").exit == 0
    store.write_bytes(older)
    return told


def heads(store: Path) -> Path:
    return store.with_name(f"{store.name}.heads")


def test_doctor_names_what_is_missing_and_how_to_go_on_without_it(torn: Shell, store: Path) -> None:
    told = torn("doctor", "--json")
    assert told.exit == 1
    (found,) = (each for each in told.document["findings"] if each["state"] == "problem")
    assert (found["about"], found["what"]) == ("space default", "log")
    assert MISSING in found["detail"]
    assert f"delete {heads(store).name}" in found["remedy"]


@pytest.mark.parametrize("tokens", [["status"], ["blocks"], ["log"]], ids=lambda tokens: tokens[0])
def test_what_is_left_is_shown_with_a_warning(torn: Shell, tokens: list[str]) -> None:
    told = torn(*tokens)
    assert told.exit == 0
    assert MISSING in told.err


def test_nothing_is_written_before_somebody_decides(torn: Shell, store: Path) -> None:
    told = torn("learn", "the crane has oil", "--json")
    assert (told.exit, told.error["code"]) == (4, "log-corrupt")
    assert told.error["acknowledged"] == told.error["version"]
    assert f"delete {heads(store).name}" in told.error["recovery"]
    heads(store).unlink()
    assert torn("learn", "the crane has oil").exit == 0
    assert torn("verify").exit == 0
    assert torn("doctor").exit == 0


def test_what_is_left_can_be_saved(torn: Shell, store: Path) -> None:
    saved = store.with_name("saved.db")
    told = torn("salvage", str(store), str(saved))
    assert told.exit == 4
    assert "lost 1 event at least" in told.out
    with SyncMemory.open(saved, read_only=True) as memory:
        assert memory.verify().sound


def test_a_space_that_is_lost_as_a_whole_is_named(told: Shell, store: Path) -> None:
    older = store.read_bytes()
    assert told("--space", "second", "learn", "the crane needs oil").exit == 0
    store.write_bytes(older)
    found = told("doctor", "--json")
    lost = "1 space with 3 events cannot be found"
    assert [
        (each["about"], each["what"])
        for each in found.document["findings"]
        if each["state"] == "problem" and lost in each["detail"]
    ] == [("store", "lost"), ("space default", "log")]
    again = told("--space", "second", "learn", "the crane needs oil", "--json")
    assert (again.exit, again.error["code"]) == (4, "log-corrupt")
    saved = told("salvage", str(store), str(store.with_name("saved.db")))
    assert saved.exit == 4
    assert lost in saved.out.replace("\n", " ")
