"""Commands whose rows the store has lost are recognised by the ids that events carry."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.kernel.errors import CommandIdReused
from tests.adapters.inprocess.conftest import Open

LEARNED = 2
"""The version of the first event after those that open a space."""


def emptied(path: Path) -> None:
    """Delete every row of the table of commands, as a fault or an operator might."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DELETE FROM commands")


@pytest.fixture
def learned(opened: Open, path: Path) -> SyncMemory:
    memory = opened(path)
    memory.learn("the bridge is closed", command_id="learn-1")
    memory.learn("the ferry runs at nine")
    return memory


def refused(memory: SyncMemory, text: str = "the bridge is closed") -> CommandIdReused:
    before = memory.status().version
    with pytest.raises(CommandIdReused) as caught:
        memory.learn(text, command_id="learn-1")
    assert memory.status().version == before
    return caught.value


@pytest.mark.parametrize("is_reopened", [False, True])
def test_a_command_whose_row_is_lost_is_refused_when_repeated(
    opened: Open, learned: SyncMemory, path: Path, *, is_reopened: bool
) -> None:
    emptied(path)
    if is_reopened:
        learned.close()
    refusal = refused(opened(path) if is_reopened else learned)
    assert refusal.facts == {"command_id": "learn-1", "version": LEARNED}
    assert "the store has lost its request" in refusal.message
    assert f"version {LEARNED}" in refusal.recovery


def test_it_is_refused_after_opening_from_a_checkpoint(
    opened: Open, learned: SyncMemory, path: Path
) -> None:
    learned.checkpoint()
    learned.learn("the tunnel is open", command_id="learn-2")
    learned.close()
    emptied(path)
    memory = opened(path)
    for command_id in ("learn-1", "learn-2"):
        with pytest.raises(CommandIdReused):
            memory.learn("something else", command_id=command_id)


def test_it_is_refused_after_an_erasure_has_replayed_the_log(
    learned: SyncMemory, path: Path
) -> None:
    emptied(path)
    learned.erase(learned.blocks().items[1].id)
    refused(learned)


def test_another_actor_may_still_use_the_id(learned: SyncMemory, path: Path) -> None:
    emptied(path)
    ben = learned.session_handle(actor="ben")
    assert ben.learn("the bridge is open", command_id="learn-1").action == "created"
    assert ben.learn("the bridge is open", command_id="learn-1").action == "created"
    refused(learned)


def test_verification_counts_the_commands_whose_rows_are_lost(
    learned: SyncMemory, path: Path
) -> None:
    learned.learn_many(["one", "two", "three"], command_id="learn-3")
    assert (learned.verify().sound, learned.verify().requests_lost) == (True, 0)
    emptied(path)
    found = learned.verify()
    assert (found.sound, found.requests_lost) == (True, 2)
    assert found.summary.endswith("2 commands cannot be answered again.")


def test_a_row_that_names_other_versions_is_none(learned: SyncMemory, path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE commands SET first = 1, last = 1")
    assert learned.verify().requests_lost == 1
    refused(learned)


def test_a_command_of_several_events_is_recognised_by_all_of_them(opened: Open, path: Path) -> None:
    memory = opened(path)
    said = ["one", "two", "three"]
    first = memory.learn_many(said, command_id="learn-1")
    memory.learn("four", command_id="learn-2")
    assert memory.learn_many(said, command_id="learn-1") == first
    emptied(path)
    with pytest.raises(
        CommandIdReused, match="used at version 2, and the store has lost its request"
    ):
        memory.learn_many(said, command_id="learn-1")


def test_a_fork_in_the_middle_of_a_command_refuses_to_repeat_it(
    opened: Open, store: MemoryStore
) -> None:
    memory = opened()
    memory.learn_many(["one", "two", "three"], command_id="learn-1")
    memory.fork("trial", version=LEARNED)
    trial = opened(store, space="trial")
    before = trial.status().version
    with pytest.raises(CommandIdReused):
        trial.learn_many(["one", "two", "three"], command_id="learn-1")
    assert (trial.status().version, trial.verify().requests_lost) == (before, 1)


def test_an_id_like_a_generated_one_is_recognised_too(opened: Open, path: Path) -> None:
    memory = opened(path)
    command_id = "00c0ffee00c0ffee"
    memory.learn("the bridge is closed", command_id=command_id)
    emptied(path)
    with pytest.raises(CommandIdReused):
        memory.learn("the bridge is closed", command_id=command_id)
    assert memory.verify().requests_lost == 0  # the engine may have made it
