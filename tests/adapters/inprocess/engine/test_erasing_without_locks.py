"""What takes long about an erasure is done without the locks of the space."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.inprocess.engine.log_state import LogState
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
        log_state.prepare_erasure()
        assert log_state.state is not mapped
        copied = log_state.state
        log_state.prepare_erasure()
        assert log_state.state is copied, "a state that is not mapped stays"


def test_a_prepared_state_is_that_of_the_log(path: Path) -> None:
    with opened(path) as memory:
        log_state = log_state_of(memory)
        memory.learn("a clock hangs beside the lamps")
        log_state.prepare_erasure()
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
        writer = log_state_of(memory).checkpoint_writer
        assert writer is not None
        destroy, written = writer.destroy, list[str]()

        def slow() -> None:
            written.append(memory.learn("a bell hangs above the door").block_id)
            destroy()

        monkeypatch.setattr(writer, "destroy", slow)
        checkpoints = [each.name for each in memory.checkpoints()]
        memory.erase(memory.recall("which lamp?", record=False).block_ids[0])
        assert written
        assert checkpoints
        assert not {each.name for each in memory.checkpoints()}.intersection(checkpoints)
