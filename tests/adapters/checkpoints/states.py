"""What there is to compare after opening: the folded state, byte for byte, and where it is from."""

from __future__ import annotations

from pathlib import Path

from mnemic.adapters.checkpoints.keeper import Keeper
from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.inprocess.space import Space
from mnemic.projections.checkpoints import freeze
from mnemic.projections.state import State


def space_of(memory: SyncMemory) -> Space:
    return memory._space  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]


def told(memory: SyncMemory) -> dict[str, tuple[str, bytes]]:
    """Return the state of an open memory, part by part."""
    space_of(memory).catch_up()
    return _parts(space_of(memory).state)


def told_by_log(memory: SyncMemory) -> dict[str, tuple[str, bytes]]:
    """Return what the whole log folds into, part by part."""
    return _parts(State().rebuild(space_of(memory).recorded(-1)))


def keeper_of(memory: SyncMemory) -> Keeper:
    keeper = space_of(memory).keeper
    assert keeper is not None
    return keeper


def restored(memory: SyncMemory) -> int | None:
    """Return the version of the checkpoint that a memory was opened from."""
    keeper = space_of(memory).keeper
    return None if keeper is None else keeper.restored


def restored_from(path: Path) -> int | None:
    """Open a file to read it, make sure that its state is right, and say where it is from."""
    with SyncMemory.open(path, embedder=HashEmbedder(4), read_only=True) as memory:
        assert told(memory) == told_by_log(memory)
        return restored(memory)


def _parts(state: State) -> dict[str, tuple[str, bytes]]:
    return {name: (part.dtype.str, part.tobytes()) for name, part in freeze(state).items()}
