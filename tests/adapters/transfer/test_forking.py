"""fork: one past, two futures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.system.clocks import ManualClock
from mnemic.kernel.errors import (
    CommandIdReused,
    DecisionNotFound,
    FieldRefused,
    PointOutOfRange,
    SpaceErased,
    SpaceExists,
    StoreFailed,
)
from mnemic.kernel.policy import Policy
from tests.adapters.transfer.conftest import Open
from tests.adapters.transfer.damage import damage


def digests(store: MemoryStore, space: str, upto: int) -> list[bytes | None]:
    log = store.log(space, create=False)
    return [log.digest_at(version) for version in range(upto + 1)]


def test_a_fork_and_its_original_are_independent(
    memory: SyncMemory, store: MemoryStore, opened: Open
) -> None:
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


def test_an_erasure_does_not_cross_between_fork_and_original(
    memory: SyncMemory, opened: Open
) -> None:
    block = memory.blocks().items[0]
    assert "stays in the other" in memory.fork("trial").note
    trial = opened(space="trial")
    memory.erase(block.id)
    assert (memory.block(block.id).content, trial.block(block.id).content) == (
        None,
        block.content,
    )


def test_erased_text_is_not_copied_and_recorded_as_erased(
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
def test_an_invalid_time_point_is_refused_and_nothing_is_made(
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


def test_a_fork_may_go_into_another_file(memory: SyncMemory, opened: Open, tmp_path: Path) -> None:
    path = tmp_path / "trial.db"
    result = memory.fork("trial", into=path, version=9)
    assert (result.into, result.forked_from) == (str(path), "default")
    assert [each.name for each in tmp_path.iterdir()] == ["trial.db"]
    assert memory.fork("second", into=str(path)).space == "second"
    assert opened(path, space="trial").verify().sound
    with pytest.raises(SpaceExists):
        memory.fork("trial", into=path)


def test_an_unwritable_folder_is_reported(memory: SyncMemory, tmp_path: Path) -> None:
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


def test_a_command_cut_by_the_fork_point_is_not_carried_out_twice(
    memory: SyncMemory, opened: Open
) -> None:
    many = [each.version for each in memory.log() if each.kind == "block-learned"][3]
    memory.fork("trial", version=many)
    trial = opened(space="trial")
    said = ["gulls are loud", "tides turn at noon"]
    with pytest.raises(CommandIdReused, match=f"used at version {many}, and the store has lost"):
        trial.learn_many(said, command_id="many")
    answer = trial.learn_many(said, command_id="the rest")
    assert [each.action for each in answer.results] == ["restated", "created"]


def test_an_erased_space_has_nothing_to_fork(memory: SyncMemory, store: MemoryStore) -> None:
    memory.erase_space("default")
    with pytest.raises(SpaceErased):
        memory.fork("trial", version=4)
    assert store.spaces() == ("default",)


def test_two_spaces_share_one_file(opened: Open, tmp_path: Path, clock: ManualClock) -> None:
    path = tmp_path / "agent.db"
    with opened(path) as memory:
        memory.learn("one")
        clock.advance(hours=1)
        answer: list[tuple[int, int]] = []
        memory.fork("trial", progress=lambda *at: answer.append(at))
        assert answer == [(3, 3)]
        assert memory.learn("two").action == "created"
    trial = opened(path, space="trial")
    assert [each.content for each in trial.blocks().items] == ["one"]


def test_events_before_damage_can_be_forked(tmp_path: Path) -> None:
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


def test_a_space_erased_meanwhile_is_not_forked(memory: SyncMemory, store: MemoryStore) -> None:
    def erase(_done: int, _total: int) -> None:
        memory.erase_space("default")

    with pytest.raises(SpaceErased):
        memory.fork("copy", progress=erase)
    assert "copy" not in store.spaces()


def test_a_file_made_meanwhile_is_left_alone(memory: SyncMemory, tmp_path: Path) -> None:
    place = tmp_path / "copy.db"

    def make(_done: int, _total: int) -> None:
        place.write_text("theirs")

    with pytest.raises(SpaceExists, match="meanwhile"):
        memory.fork("copy", into=place, progress=make)
    assert ([file.name for file in tmp_path.iterdir()], place.read_text()) == (
        [place.name],
        "theirs",
    )
