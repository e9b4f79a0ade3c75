"""What takes long about an erasure is done without the locks of the space."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from mnemic.adapters.checkpoints import writer
from mnemic.adapters.checkpoints.files import destroy
from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.inprocess.engine.log_state import LogState
from mnemic.kernel.errors import LogCorrupt
from mnemic.projections.state.checkpoint import freeze
from mnemic.projections.state.replay import rebuild
from mnemic.projections.state.state import State

BLOCKS = 40


def opened(path: Path) -> SyncMemory:
    return SyncMemory.open(path, embedder=HashEmbedder(32))


def log_state_of(memory: SyncMemory) -> LogState:
    return memory._space.log_state  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the path of a memory with a checkpoint."""
    found = tmp_path / "agent.db"
    with opened(found) as memory, memory.session():
        for number in range(BLOCKS):
            memory.learn(f"the lamp number {number} hangs in the hall")
        memory.recall("which lamp hangs in the hall?")
        memory.checkpoint()
    return found


def test_the_first_erasure_after_opening_copies_the_state_before_the_write_lock(path: Path) -> None:
    with opened(path) as memory:
        log_state = log_state_of(memory)
        mapped = log_state.state
        with log_state.prepared_erasure(()):
            assert log_state.state is not mapped
        copied = log_state.state
        with log_state.prepared_erasure(()):
            pass
        assert log_state.state is copied, "a state that is not mapped stays"


def test_a_prepared_state_is_that_of_the_log(path: Path) -> None:
    with opened(path) as memory:
        log_state = log_state_of(memory)
        memory.learn("a clock hangs beside the lamps")
        with log_state.prepared_erasure(()):
            memory.learn("a mirror hangs beside the clock")
        memory.erase(memory.recall("which lamp?", record=False).block_ids[0])
        memory.learn("a carpet lies below the mirror")
        with log_state.lock:
            found = freeze(log_state.state)
        expected = freeze(rebuild(State(), log_state.recorded(-1)))
        assert found.keys() == expected.keys()
        differing = [name for name in found if not np.array_equal(found[name], expected[name])]
        assert not differing


def test_others_write_while_files_are_destroyed(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(path) as memory:
        written = list[str]()

        def slow(file: Path) -> bool:
            written.append(memory.learn("a bell hangs above the door").block_id)
            return destroy(file)

        monkeypatch.setattr(writer, "destroy", slow)
        checkpoints = [each.name for each in memory.checkpoints()]
        memory.erase(memory.recall("which lamp?", record=False).block_ids[0])
        assert written
        assert checkpoints
        assert not {each.name for each in memory.checkpoints()}.intersection(checkpoints)


def erased_elsewhere(path: Path) -> None:
    """Erase a block as a process does that has its checkpoints in another folder."""
    with SyncMemory.open(
        path, embedder=HashEmbedder(32), checkpoints=path.with_name("others")
    ) as other:
        other.erase(other.recall("which lamp?", record=False).block_ids[0])


def files_beside(path: Path) -> list[str]:
    """Return the names of the files of the checkpoints beside a store."""
    files = path.parent.rglob("*")
    return sorted(
        file.name
        for file in files
        if file.suffix in {".arrays", ".checkpoint"} and file.parent.name != "others"
    )


@pytest.mark.parametrize(
    "operation",
    [
        SyncMemory.status,
        SyncMemory.checkpoints,
        lambda memory: memory.learn("a bell hangs above the door"),
        lambda memory: memory.recall("which lamp?"),
    ],
    ids=["status", "checkpoints", "learn", "recall"],
)
def test_an_operation_that_finds_an_erasure_of_others_destroys_files(
    path: Path, operation: Callable[[SyncMemory], object]
) -> None:
    with opened(path) as memory:
        assert files_beside(path)
        erased_elsewhere(path)
        operation(memory)
        assert not files_beside(path)


def test_files_are_destroyed_when_a_dropped_state_is_loaded_anew(path: Path) -> None:
    with opened(path) as memory:
        log_state = log_state_of(memory)
        erased_elsewhere(path)
        with log_state.lock:
            log_state.drop()
        memory.status()
        assert not files_beside(path)


def test_opening_destroys_files_from_before_an_erasure_of_others(path: Path) -> None:
    erased_elsewhere(path)
    with opened(path):
        assert not files_beside(path)


def test_files_are_destroyed_although_the_erasure_cannot_be_folded(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(path) as memory:
        log_state = log_state_of(memory)
        erased_elsewhere(path)
        error = LogCorrupt("damaged", version=3)

        def damaged(*_: object) -> bool:
            raise error

        monkeypatch.setattr(log_state, "_erased_in_place", damaged)
        with pytest.raises(LogCorrupt, match="damaged"):
            memory.status()
        assert not files_beside(path)


def test_closing_destroys_the_files_that_an_interrupted_erasure_left(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(path) as memory:
        block = memory.recall("which lamp?", record=False).block_ids[0]

        def interrupted(file: Path) -> bool:
            raise KeyboardInterrupt(file)

        with monkeypatch.context() as patched:
            patched.setattr(writer, "destroy", interrupted)
            with pytest.raises(KeyboardInterrupt):
                memory.erase(block)
        assert files_beside(path)
    assert not files_beside(path)


def test_a_checkpoint_that_is_written_before_the_files_are_destroyed_stays(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "TAIL_MIN", 1)
    with opened(path) as memory:
        log_state = log_state_of(memory)
        finish = log_state.finish_erasure
        before = {each.name for each in memory.checkpoints()}

        def late(*, since: int) -> None:
            for thread in threading.enumerate():
                if thread.name == "mnemic-checkpoint":
                    thread.join()
            finish(since=since)

        monkeypatch.setattr(log_state, "finish_erasure", late)
        memory.erase(memory.recall("which lamp?", record=False).block_ids[0])
        version = memory.status().version
    with opened(path) as memory:
        found = memory.checkpoints()
        assert [(each.version, each.state) for each in found] == [(version, "valid")]
        assert before.isdisjoint(each.name for each in found)
