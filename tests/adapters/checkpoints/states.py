"""Comparison after opening: the state, byte for byte, and the checkpoint it came from."""

from __future__ import annotations

from pathlib import Path

from mnemic.adapters.checkpoints import layout
from mnemic.adapters.checkpoints.writer import CheckpointWriter
from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.inprocess.engine.session_handle import SessionHandle
from mnemic.projections.state.checkpoint import freeze
from mnemic.projections.state.replay import rebuild
from mnemic.projections.state.state import State


def space_of(memory: SyncMemory) -> SessionHandle:
    return memory._space  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]


def told(memory: SyncMemory) -> dict[str, tuple[str, bytes]]:
    """Return the state of an open memory, part by part."""
    space_of(memory).snapshot()
    return _parts(space_of(memory).state)


def told_by_log(memory: SyncMemory) -> dict[str, tuple[str, bytes]]:
    """Return the state replayed from the whole log, part by part."""
    return _parts(rebuild(State(), space_of(memory).recorded(-1)))


def checkpoint_writer_of(memory: SyncMemory) -> CheckpointWriter:
    checkpoint_writer = space_of(memory).log_state.checkpoint_writer
    assert checkpoint_writer is not None
    return checkpoint_writer


def arrays_of(file: Path) -> Path:
    """Return the array file that a checkpoint names."""
    return file.with_name(layout.described(file).arrays)


def restored(memory: SyncMemory) -> int | None:
    """Return the version of the checkpoint that a memory was opened from."""
    checkpoint_writer = space_of(memory).log_state.checkpoint_writer
    return None if checkpoint_writer is None else checkpoint_writer.restored


def restored_from(path: Path) -> int | None:
    """Open a file to read it, check its state, and return the checkpoint it came from."""
    with SyncMemory.open(path, embedder=HashEmbedder(4), read_only=True) as memory:
        assert told(memory) == told_by_log(memory)
        return restored(memory)


def _parts(state: State) -> dict[str, tuple[str, bytes]]:
    return {name: (part.dtype.str, part.tobytes()) for name, part in freeze(state).items()}
