"""What a store can be denied: rights, its file, its folder, descriptors. Each tried in a process.

A function takes a folder that does not exist yet, and returns why it could not be tried; None if it
was. It fails by an ``AssertionError``, or by any error that is none of ours.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import pytest

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.kernel.errors import MnemicError, StoreFailed
from tests.crash.limits import descriptors
from tests.crash.writers import child

NOBODY: Final = 65534
STUCK: Final = 2
EMBEDDER: Final = HashEmbedder(4)
DESCRIPTORS_MAX: Final = 24
"""More than a store, its checkpoints and an export have open at once."""


def _opened(path: Path, *, read_only: bool = False) -> SyncMemory:
    return SyncMemory.open(path, embedder=EMBEDDER, synchronous="normal", read_only=read_only)


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True)
    path = folder / "agent.db"
    with _opened(path) as memory:
        memory.learn_many(["the gate opens at six", "the crane needs oil"])
        memory.consolidate()
        memory.recall("when does the gate open")
    return path


def _refused(act: Callable[[], object]) -> StoreFailed:
    with pytest.raises(StoreFailed) as caught:
        act()
    assert caught.value.recovery
    return caught.value


def _as_nobody(change: Callable[[Path], object], check: Callable[[Path], object]) -> str | None:
    """Make a store owned by the user nobody, change something about it, and become nobody."""
    with tempfile.TemporaryDirectory() as name:
        path = _made(Path(name) / "store")
        Path(name).chmod(0o755)
        everything = [path.parent, *path.parent.rglob("*")]
        if os.geteuid() == 0:
            for each in everything:
                os.chown(each, NOBODY, NOBODY)
        change(path)
        process = child(lambda: _be_nobody(path, check))
        code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        for each in everything:
            each.chmod(0o700)
    assert code in {0, STUCK}, "see above"
    return "nobody can come to the folder" if code == STUCK else None


def _be_nobody(path: Path, check: Callable[[Path], object]) -> None:
    if os.geteuid() == 0:
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    if not os.access(path.parent, os.X_OK):
        os._exit(STUCK)
    check(path)


def _reads_alone(path: Path) -> None:
    error = _refused(lambda: _opened(path))
    assert "read_only=True" in error.recovery, error.recovery
    with _opened(path, read_only=True) as memory:
        assert memory.verify().sound
        assert len(memory.recall("gate", record=False).blocks) == 2


def _comes_to_nothing(path: Path) -> None:
    _refused(lambda: _opened(path))
    _refused(lambda: _opened(path, read_only=True))


def read_only_file(_: Path) -> str | None:
    return _as_nobody(lambda path: path.chmod(0o400), _reads_alone)


def read_only_folder(_: Path) -> str | None:
    return _as_nobody(lambda path: path.parent.chmod(0o500), _reads_alone)


def unreadable_file(_: Path) -> str | None:
    return _as_nobody(lambda path: path.chmod(0o000), _comes_to_nothing)


def folder_removed(folder: Path) -> str | None:
    """What could not be found again is neither acknowledged nor read."""
    path = _made(folder)
    with _opened(path) as memory:
        memory.learn("while there is a folder")
        shutil.rmtree(folder)
        _refused(lambda: memory.learn("into the void"))
        _refused(memory.checkpoint)
        _refused(memory.status)
    assert not folder.exists()
    return None


def file_replaced(folder: Path) -> str | None:
    """A backup is put in the place of the store while that is open."""
    path = _made(folder)
    backup = folder / "backup.db"
    shutil.copy(path, backup)
    with _opened(path) as memory:
        memory.learn("since the backup")
        backup.replace(path)
        assert "replaced" in _refused(lambda: memory.learn("into the void")).message
    return None


def descriptors_used_up(folder: Path) -> str | None:
    """With any number of descriptors left, everything works or is refused, and works later."""
    path = _made(folder)
    with path.open("rb") as file:
        lowest = file.fileno()
    refused = worked = 0
    for count in range(lowest, lowest + DESCRIPTORS_MAX):
        export = folder / f"{count}.jsonl"
        try:
            with descriptors(count), _opened(path) as memory:
                memory.learn(f"with {count} descriptors")
                memory.checkpoint()
                memory.export(export)
            worked += 1
        except MnemicError:
            refused += 1
            assert not export.exists()
        with _opened(path) as memory:
            memory.learn(f"after {count} descriptors")
            assert memory.verify().sound
    assert refused, "no limit was felt"
    assert worked, "nothing worked"
    return None


PERMISSIONS: Final[Mapping[str, Callable[[Path], str | None]]] = {
    "a file that is read-only": read_only_file,
    "a folder that is read-only": read_only_folder,
    "a file that cannot be read": unreadable_file,
    "a folder removed under a store": folder_removed,
    "a file replaced under a store": file_replaced,
    "no descriptors": descriptors_used_up,
}
