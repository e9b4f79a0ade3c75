"""Command ids belong to the actor that used them."""

from __future__ import annotations

from pathlib import Path

import pytest

from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.inprocess.engine import idempotency
from mnemic.kernel.errors import CommandIdReused
from mnemic.kernel.results import LearnResult
from tests.adapters.inprocess.conftest import Open


def test_two_actors_may_use_the_same_command_id(memory: SyncMemory) -> None:
    ada, ben = memory.session_handle(actor="ada"), memory.session_handle(actor="ben")
    first = ada.learn("the bridge is closed", command_id="learn-1")
    second = ben.learn("the ferry runs at nine", command_id="learn-1")
    assert first.block_id != second.block_id
    assert [event.actor for event in memory.log() if event.kind == "block-learned"] == [
        "ada",
        "ben",
    ]


def test_each_actor_gets_its_own_answer_again(memory: SyncMemory) -> None:
    ada, ben = memory.session_handle(actor="ada"), memory.session_handle(actor="ben")

    def said() -> list[LearnResult]:
        return [
            ada.learn("the bridge is closed", command_id="learn-1"),
            ben.learn("the ferry runs at nine", command_id="learn-1"),
        ]

    first = said()
    written = memory.status().version
    assert said() == first
    assert memory.status().version == written


def test_an_id_still_names_one_request_of_its_actor(memory: SyncMemory) -> None:
    ada, ben = memory.session_handle(actor="ada"), memory.session_handle(actor="ben")
    ada.learn("the bridge is closed", command_id="learn-1")
    ben.learn("the ferry runs at nine", command_id="learn-1")
    for actor in (ada, ben):
        with pytest.raises(CommandIdReused):
            actor.learn("the tunnel is open", command_id="learn-1")


def test_the_actor_that_used_an_id_first_has_it_as_its_key(memory: SyncMemory) -> None:
    """Logs written before ids were scoped hold every id as it was given."""
    for actor in ("ada", "ben"):
        memory.session_handle(actor=actor).learn(f"said by {actor}", command_id="learn-1")
    row = memory._space.log.command("learn-1")  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
    assert row is not None
    (written,) = memory.log(after=row.first - 1, limit=1)
    assert written.actor == "ada"


def test_an_id_spelled_like_the_key_of_another_excludes_nobody(memory: SyncMemory) -> None:
    ada, ben = memory.session_handle(actor="ada"), memory.session_handle(actor="ben")
    space = memory._space  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
    ada.learn("one", command_id="learn-1")
    now = space.snapshot()
    taken, _ = idempotency.place("learn-1", "ben", space.log_state, now.state, upto=now.version)
    ada.learn("two", command_id=taken)
    first = ben.learn("three", command_id="learn-1")
    assert ben.learn("three", command_id="learn-1") == first
    assert ada.learn("two", command_id=taken).action == "created"


def test_ids_of_all_actors_survive_a_reopening_and_an_export(opened: Open, path: Path) -> None:
    copy = path.with_name("copy.db")
    with opened(path) as memory:
        for actor in ("ada", "ben"):
            memory.session_handle(actor=actor).learn(f"said by {actor}", command_id="learn-1")
        memory.export(path.with_suffix(".jsonl"))
    SyncMemory.import_space(path.with_suffix(".jsonl"), copy)
    for place in (path, copy):
        with opened(place) as memory:
            written = memory.status().version
            for actor in ("ada", "ben"):
                handle = memory.session_handle(actor=actor)
                handle.learn(f"said by {actor}", command_id="learn-1")
            assert memory.status().version == written
