"""A database that was deleted while a part of it is left, and paths that no database has."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.sqlite import SQLiteStore
from mnemic.adapters.transfer.backup import backup, restore
from mnemic.kernel.errors import FieldRefused, NotAStore, StoreFailed, StoreMissing
from mnemic.specs.contracts.log_entries import bare, contents, records


@pytest.fixture
def killed(tmp_path: Path) -> Path:
    """Return a database whose last commits are in its write-ahead log, as after a kill."""
    path, copy = tmp_path / "open.db", tmp_path / "agent.db"
    with closing(SQLiteStore(path)) as store:
        store.log("home").append(records(0, 3), (), after=store.log("home").head())
        for ending in ("", "-wal", ".heads"):
            beside = path.with_name(f"open.db{ending}")
            copy.with_name(f"agent.db{ending}").write_bytes(beside.read_bytes())
    return copy


def left(path: Path) -> dict[str, bytes]:
    return {each.name: each.read_bytes() for each in path.parent.glob("agent.db*")}


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize("emptied", [False, True])
@pytest.mark.parametrize("gone", [(), ("-wal",), (".heads",)])
def test_a_deleted_database_is_not_replaced_while_a_part_of_it_is_left(
    killed: Path, gone: tuple[str, ...], *, emptied: bool, read_only: bool
) -> None:
    killed.unlink()
    if emptied:
        killed.touch()
    for ending in gone:
        killed.with_name(f"agent.db{ending}").unlink()
    before = left(killed)
    with pytest.raises(StoreMissing) as caught:
        SQLiteStore(killed, read_only=read_only)
    names = sorted({"agent.db-wal", "agent.db.heads"} & set(before))
    assert caught.value.facts == {"path": str(killed), "left": names}
    assert all(name in caught.value.recovery for name in names)
    assert ("3 events with it" in caught.value.message) == (".heads" not in gone)
    assert left(killed) == before


def test_a_database_that_is_put_back_opens_with_everything(killed: Path) -> None:
    aside = killed.with_name("aside.db")
    killed.rename(aside)
    with pytest.raises(StoreMissing):
        SQLiteStore(killed)
    aside.rename(killed)
    with closing(SQLiteStore(killed)) as store:
        assert contents(store.log("home")) == bare(records(0, 3))


def test_a_new_store_is_made_once_the_remains_are_gone(killed: Path) -> None:
    killed.unlink()
    for ending in ("-wal", ".heads"):
        killed.with_name(f"agent.db{ending}").unlink()
    with closing(SQLiteStore(killed)) as store:
        assert store.spaces() == ()


def test_a_database_that_is_deleted_and_left_nothing_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(StoreFailed, match="there is no file"):
        SQLiteStore(tmp_path / "agent.db", read_only=True)


def test_no_backup_is_restored_beside_the_log_of_another_store(
    killed: Path, tmp_path: Path
) -> None:
    """SQLite would write the commits of the old store into the new one."""
    with SyncMemory.open(tmp_path / "source.db") as memory:
        memory.learn("a fact")
    backup(tmp_path / "source.db", tmp_path / "b.db")
    killed.unlink()
    with pytest.raises(StoreMissing):
        restore(tmp_path / "b.db", killed)
    killed.with_name("agent.db-wal").unlink()
    restore(tmp_path / "b.db", killed)
    with SyncMemory.open(killed) as memory:
        assert memory.verify().sound


# --- impossible paths ---------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["agent\0.db", "\0", "\ud800.db"])
@pytest.mark.parametrize("read_only", [False, True])
def test_a_path_that_no_file_has_is_refused_by_name(path: str, *, read_only: bool) -> None:
    with pytest.raises(FieldRefused) as caught:
        SyncMemory.open(path, read_only=read_only)
    assert caught.value.facts == {"field": "path"}
    assert repr(path) in caught.value.message


@pytest.mark.parametrize("path", ["/", "//", "/."])
@pytest.mark.parametrize("read_only", [False, True])
def test_the_root_folder_is_no_store(path: str, *, read_only: bool) -> None:
    with pytest.raises(NotAStore) as caught:
        SyncMemory.open(path, read_only=read_only)
    assert caught.value.facts == {"path": path}


def test_every_other_path_is_checked_as_well(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    with pytest.raises(FieldRefused, match="keys"):
        SyncMemory.open(path, keys="keys\0")
    with pytest.raises(FieldRefused, match="checkpoints"):
        SyncMemory.open(path, checkpoints="folder\0")
    with SyncMemory.open(path) as memory:
        with pytest.raises(FieldRefused):
            memory.export("export\0")
        with pytest.raises(FieldRefused):
            memory.fork("copy", into="copy\0")
    with pytest.raises(FieldRefused):
        SyncMemory.import_space("export\0", tmp_path / "other.db")
    for act in (lambda: backup(path, "b\0"), lambda: restore("b\0", path)):
        with pytest.raises(FieldRefused):
            act()


def test_a_database_of_another_program_without_content_is_left(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE theirs (x)")
    with pytest.raises(NotAStore):
        SQLiteStore(path)
