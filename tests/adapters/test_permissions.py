"""Everything that mnemic writes is readable by its owner only, whatever the umask."""

from __future__ import annotations

import os
import stat
from collections.abc import Generator
from pathlib import Path

import pytest

from mnemic.adapters.access import Keyring
from mnemic.adapters.cli import main
from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.transfer.exports.archive import Packed, Unpacking

pytestmark = pytest.mark.skipif(os.name != "posix", reason="permissions are those of POSIX")

OTHERS = 0o077


@pytest.fixture(params=[0o000, 0o022], ids=["umask 000", "umask 022"])
def _umask(request: pytest.FixtureRequest) -> Generator[None]:
    """Set a umask that allows others everything."""
    before = os.umask(request.param)
    yield
    os.umask(before)


def open_to_others(folder: Path) -> dict[str, str]:
    """Return every file and folder below *folder* that others than the owner may use."""
    return {
        str(path.relative_to(folder)): stat.filemode(path.lstat().st_mode)
        for path in sorted(folder.rglob("*"))
        if stat.S_IMODE(path.lstat().st_mode) & OTHERS
    }


def live(folder: Path) -> None:
    """Let a memory write every kind of file that it has."""
    with SyncMemory.open(folder / "agent.db", embedder=HashEmbedder()) as memory:
        memory.learn_many([f"the gate sticks, said {number}" for number in range(20)])
        memory.consolidate()
        memory.recall("gate")
        memory.checkpoint()
        memory.export(folder / "all.jsonl")
        memory.fork("copy", into=folder / "copy.db")
        SyncMemory.import_space(folder / "all.jsonl", folder / "again.db", space="again")
        kinds = {path.name.removeprefix("agent.db") for path in folder.glob("agent.db*")}
        assert kinds == {"", "-wal", "-shm", ".checkpoints", ".heads"}
        assert open_to_others(folder) == {}


@pytest.mark.usefixtures("_umask")
def test_files_of_a_memory_are_private(tmp_path: Path) -> None:
    live(tmp_path)
    assert open_to_others(tmp_path) == {}


@pytest.mark.usefixtures("_umask")
def test_the_token_file_and_its_lock_are_private(tmp_path: Path) -> None:
    Keyring.open(tmp_path / "agent.db.tokens").create("ines", {"*": "admin"})
    assert {path.name for path in tmp_path.iterdir()} == {
        "agent.db.tokens",
        "agent.db.tokens.lock",
    }
    assert open_to_others(tmp_path) == {}


@pytest.mark.usefixtures("_umask")
def test_an_uploaded_archive_is_unpacked_privately(tmp_path: Path) -> None:
    with SyncMemory.open(":memory:", embedder=HashEmbedder()) as memory:
        memory.learn("the gate sticks")
        memory.consolidate()
        memory.export(tmp_path / "all.jsonl")
    folder = tmp_path / "spool"
    folder.mkdir(mode=0o700)
    with Packed(tmp_path / "all.jsonl") as packed, Unpacking(folder) as unpacking:
        for piece in packed:
            unpacking.feed(piece)
        unpacking.finish()
    assert len(list(folder.iterdir())) == 2
    assert open_to_others(tmp_path) == {}


@pytest.mark.usefixtures("_umask")
def test_files_made_by_the_command_line_are_private(tmp_path: Path) -> None:
    assert main(["--db", str(tmp_path / "agent.db"), "learn", "the gate sticks"]) == 0
    assert (tmp_path / "agent.db").exists()
    assert open_to_others(tmp_path) == {}


def test_all_files_of_a_shared_store_share_its_permissions(
    tmp_path: Path,
) -> None:
    (tmp_path / "agent.db").touch()
    (tmp_path / "agent.db").chmod(0o660)
    with SyncMemory.open(tmp_path / "agent.db", embedder=HashEmbedder()) as memory:
        memory.learn("the gate sticks")
        memory.checkpoint()
        modes = {
            path.name: oct(stat.S_IMODE(path.stat().st_mode))
            for path in tmp_path.iterdir()
            if path.is_file()
        }
    endings = ("", "-wal", "-shm", ".heads")
    assert modes == dict.fromkeys((f"agent.db{ending}" for ending in endings), "0o660")


def test_a_store_behind_a_dangling_link_is_made_at_its_target(tmp_path: Path) -> None:
    (tmp_path / "link.db").symlink_to(tmp_path / "agent.db")
    before = os.umask(0)
    try:
        with SyncMemory.open(tmp_path / "link.db", embedder=HashEmbedder()) as memory:
            memory.learn("the gate sticks")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "agent.db").stat().st_mode) == 0o600
