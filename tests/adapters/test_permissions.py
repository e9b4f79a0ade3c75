"""Whatever mnemic writes, nobody but its owner may read, whatever the umask would allow."""

from __future__ import annotations

import os
import stat
from collections.abc import Generator
from pathlib import Path

import pytest

from mnemic.adapters.access import Keyring
from mnemic.adapters.cli import main
from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.exchange.archive import Packed, Unpacking
from mnemic.adapters.inprocess import SyncMemory

pytestmark = pytest.mark.skipif(os.name != "posix", reason="permissions are those of POSIX")

OTHERS = 0o077


@pytest.fixture(params=[0o000, 0o022], ids=["umask 000", "umask 022"])
def _umask(request: pytest.FixtureRequest) -> Generator[None]:
    """Let the system allow others whatever a program does not forbid."""
    before = os.umask(request.param)
    yield
    os.umask(before)


def open_to_others(folder: Path) -> dict[str, str]:
    """Return every file and folder below *folder* that anybody but the owner may use."""
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
        assert kinds == {"", "-wal", "-shm", ".checkpoints", ".gate", ".heads", ".lock"}
        assert open_to_others(folder) == {}


@pytest.mark.usefixtures("_umask")
def test_what_a_memory_writes_is_its_owners(tmp_path: Path) -> None:
    live(tmp_path)
    assert open_to_others(tmp_path) == {}


@pytest.mark.usefixtures("_umask")
def test_tokens_and_their_lock_are_their_owners(tmp_path: Path) -> None:
    Keyring.open(tmp_path / "agent.db.tokens").create("ines", {"*": "admin"})
    assert {path.name for path in tmp_path.iterdir()} == {
        "agent.db.tokens",
        "agent.db.tokens.lock",
    }
    assert open_to_others(tmp_path) == {}


@pytest.mark.usefixtures("_umask")
def test_what_comes_in_over_a_wire_is_unpacked_for_its_owner(tmp_path: Path) -> None:
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
def test_what_the_command_line_makes_is_its_owners(tmp_path: Path) -> None:
    assert main(["--db", str(tmp_path / "agent.db"), "learn", "the gate sticks"]) == 0
    assert (tmp_path / "agent.db").exists()
    assert open_to_others(tmp_path) == {}


def test_a_store_that_is_shared_on_purpose_is_shared_with_all_that_belongs_to_it(
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
    endings = ("", "-wal", "-shm", ".gate", ".heads", ".lock")
    assert modes == dict.fromkeys((f"agent.db{ending}" for ending in endings), "0o660")


def test_a_store_behind_a_link_to_nowhere_is_made_where_the_link_leads(tmp_path: Path) -> None:
    (tmp_path / "link.db").symlink_to(tmp_path / "agent.db")
    before = os.umask(0)
    try:
        with SyncMemory.open(tmp_path / "link.db", embedder=HashEmbedder()) as memory:
            memory.learn("the gate sticks")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "agent.db").stat().st_mode) == 0o600
