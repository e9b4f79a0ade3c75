"""fork: one past, two futures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mnemic.adapters.clocks import ManualClock
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.kernel.errors import (
    DecisionNotFound,
    FieldRefused,
    PointOutOfRange,
    SpaceErased,
    SpaceExists,
    StoreFailed,
)
from mnemic.kernel.policy import Policy
from tests.adapters.exchange.conftest import Open
from tests.adapters.exchange.damage import damage


def digests(store: MemoryStore, space: str, upto: int) -> list[bytes | None]:
    log = store.log(space, create=False)
    return [log.digest_at(version) for version in range(upto + 1)]


def test_a_fork_at_any_version_has_the_same_chain_and_decisions(
    memory: SyncMemory, store: MemoryStore, opened: Open, decisions: list[str]
) -> None:
    for version in range(memory.status().version + 1):
        name = f"fork {version}"
        result = memory.fork(name, version=version)
        assert digests(store, name, version) == digests(store, "default", version)
        fork = opened(space=name)
        assert fork.verify().sound
        assert fork.status().version == version + len(result.erasures)
        told = [each for each in decisions if int(each[1:]) <= version]
        assert [fork.replay(each) for each in told] == [memory.replay(each) for each in told]
        for each in told:
            assert fork.verify_receipt(memory.receipt(each)).verdict == "renamed"


def test_both_live_on_alone(memory: SyncMemory, store: MemoryStore, opened: Open) -> None:
    last = memory.status().version
    before = list(store.log("default").read())
    memory.fork("trial")
    trial = opened(space="trial")
    trial.adopt_policy(Policy(name="bold", top_k=1))
    trial.learn("only here")
    trial.recall("only here")
    assert list(store.log("default").read()) == before
    memory.learn("only there")
    assert (memory.policy.name, trial.policy.name) == ("other", "bold")
    assert trial.verify().sound
    assert memory.verify().sound
    assert digests(store, "trial", last) == digests(store, "default", last)
    assert digests(store, "trial", last + 1) != digests(store, "default", last + 1)


def test_an_erasure_in_one_does_not_reach_the_other(memory: SyncMemory, opened: Open) -> None:
    gate = memory.blocks().items[0]
    assert "stays in the other" in memory.fork("trial").note
    trial = opened(space="trial")
    memory.erase(gate.id)
    assert (memory.block(gate.id).content, trial.block(gate.id).content) == (None, gate.content)


def test_words_that_are_erased_by_now_are_not_copied_and_the_fork_says_so(
    memory: SyncMemory, opened: Open, store: MemoryStore
) -> None:
    (erased,) = [each for each in memory.log() if each.kind == "block-erased"]
    result = memory.fork("before", version=erased.version - 1)
    fork = opened(space="before")
    (block,) = result.erasures
    assert fork.block(block).content is None
    assert [each.kind for each in fork.log()][-1] == "block-erased"
    assert fork.status().hour == memory.as_of(version=erased.version - 1).hour
    assert "Erased here too: 1 block." in str(result)
    payloads = [row for _, rows in store.log("before").read() for row in rows]
    assert [row for row in payloads if block in row.owners] == []


def test_a_point_may_be_named_in_every_way(memory: SyncMemory, decisions: list[str]) -> None:
    read = memory.as_of(decision=decisions[1]).version
    half = memory.as_of(hour=0.5).version
    last = memory.status()
    assert memory.fork("a", decision=decisions[1]).version == read
    assert memory.fork("b", hour=0.5).version == half
    assert memory.fork("c", at=last.recorded_at).version == last.version
    assert memory.fork("d").version == last.version


@pytest.mark.parametrize(
    ("point", "error"),
    [
        ({"version": 10_000}, PointOutOfRange),
        ({"version": -1}, PointOutOfRange),
        ({"hour": -1.0}, PointOutOfRange),
        ({"decision": "d0"}, DecisionNotFound),
        ({"hour": 1.0, "version": 1}, FieldRefused),
        ({"at": "yesterday"}, FieldRefused),
    ],
)
def test_a_point_that_is_none_is_refused_and_nothing_is_made(
    memory: SyncMemory, store: MemoryStore, point: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        memory.fork("trial", **point)
    assert store.spaces() == ("default",)


def test_nothing_is_overwritten(memory: SyncMemory, store: MemoryStore) -> None:
    memory.fork("trial", version=4)
    before = list(store.log("trial").read())
    for name in ("trial", "default"):
        with pytest.raises(SpaceExists):
            memory.fork(name)
    assert list(store.log("trial").read()) == before
    with pytest.raises(FieldRefused):
        memory.fork("")


def test_it_may_go_into_another_file(memory: SyncMemory, opened: Open, tmp_path: Path) -> None:
    path = tmp_path / "trial.db"
    result = memory.fork("trial", into=path, version=9)
    assert (result.into, result.forked_from) == (str(path), "default")
    assert [each.name for each in tmp_path.iterdir()] == ["trial.db"]
    assert memory.fork("second", into=str(path)).space == "second"
    assert opened(path, space="trial").verify().sound
    with pytest.raises(SpaceExists):
        memory.fork("trial", into=path)


def test_a_folder_that_takes_nothing_is_no_bug_of_ours(memory: SyncMemory, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    for into in (tmp_path / "file" / "new.db", tmp_path / ("n" * 300)):
        with pytest.raises(StoreFailed):
            memory.fork("trial", into=into)


def test_commands_are_remembered_in_the_fork_too(memory: SyncMemory, opened: Open) -> None:
    memory.fork("trial", version=8)
    trial = opened(space="trial")
    head = trial.status().version
    again = trial.learn("the harbour gate opens at six", tags=["gate"], command_id="first")
    assert (again.action, trial.status().version) == ("created", head)


def test_a_command_that_the_point_cuts_through_can_be_given_again(
    memory: SyncMemory, opened: Open
) -> None:
    many = [each.version for each in memory.log() if each.kind == "block-learned"][3]
    memory.fork("trial", version=many)
    trial = opened(space="trial")
    told = trial.learn_many(["gulls are loud", "tides turn at noon"], command_id="many")
    assert [each.action for each in told.results] == ["duplicate", "created"]


def test_an_erased_space_has_nothing_to_fork(memory: SyncMemory, store: MemoryStore) -> None:
    memory.erase_space()
    with pytest.raises(SpaceErased):
        memory.fork("trial", version=4)
    assert store.spaces() == ("default",)


def test_in_one_file_two_spaces_stand_beside_each_other(
    opened: Open, tmp_path: Path, clock: ManualClock
) -> None:
    path = tmp_path / "agent.db"
    with opened(path) as memory:
        memory.learn("one")
        clock.advance(hours=1)
        told: list[tuple[int, int]] = []
        memory.fork("trial", progress=lambda *at: told.append(at))
        assert told == [(3, 3)]
        assert memory.learn("two").action == "created"
    trial = opened(path, space="trial")
    assert [each.content for each in trial.blocks().items] == ["one"]


def test_what_stands_before_damage_can_be_saved(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with SyncMemory.open(path) as memory:
        memory.learn("one")
        memory.learn("two")
    damage(path, 3)
    with SyncMemory.open(path, read_only=True) as memory:
        memory.fork("default", into=tmp_path / "saved.db")
    with SyncMemory.open(tmp_path / "saved.db") as saved:
        assert saved.verify().sound
        assert [each.content for each in saved.blocks().items] == ["one"]


def test_a_fork_of_a_space_that_is_erased_meanwhile_is_none(
    memory: SyncMemory, store: MemoryStore
) -> None:
    def erase(_done: int, _total: int) -> None:
        memory.erase_space()

    with pytest.raises(SpaceErased):
        memory.fork("copy", progress=erase)
    assert "copy" not in store.spaces()


def test_a_new_file_that_somebody_else_makes_meanwhile_is_left_alone(
    memory: SyncMemory, tmp_path: Path
) -> None:
    place = tmp_path / "copy.db"

    def make(_done: int, _total: int) -> None:
        place.write_text("theirs")

    with pytest.raises(SpaceExists, match="meanwhile"):
        memory.fork("copy", into=place, progress=make)
    assert ([file.name for file in tmp_path.iterdir()], place.read_text()) == (
        [place.name],
        "theirs",
    )
