"""A file that is put back or replaced while it is open: noticed by its digests, or by its inode."""

from __future__ import annotations

import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.logs.chain import EMPTY
from mnemic.adapters.stores.sqlite import SQLiteStore
from mnemic.kernel.errors import HistoryReplaced, LogCorrupt, StoreFailed
from mnemic.specs.contracts.log_entries import bare, contents, records

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="an open file stays in its place")


def opened(path: Path, **more: object) -> SyncMemory:
    return SyncMemory.open(path, embedder=HashEmbedder(16), **more)  # type: ignore[arg-type]


def copied(source: Path, target: Path) -> None:
    """Copy the content of a file in use, in one transaction, into another one."""
    with closing(sqlite3.connect(source)) as one, closing(sqlite3.connect(target)) as two:
        one.backup(two)


def forget(path: Path) -> None:
    path.with_name(f"{path.name}.heads").unlink()


def moved_over(source: Path, path: Path) -> None:
    """Replace a file by another one that is not in use, with all that belongs to it."""
    for ending in ("-wal", "-shm", ".heads"):
        path.with_name(path.name + ending).unlink(missing_ok=True)
    source.replace(path)


def texts(memory: SyncMemory) -> set[str]:
    items = memory.blocks(limit=100).items
    return {each.content for each in items if each.content is not None}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "agent.db"


def test_rows_that_were_put_back_are_another_history(path: Path, tmp_path: Path) -> None:
    with opened(path) as memory:
        memory.learn("kept")
        copied(path, tmp_path / "backup.db")
        memory.learn("lost")
        copied(tmp_path / "backup.db", path)
        forget(path)
        with pytest.raises(HistoryReplaced) as replaced:
            memory.recall("what is kept", record=False)
        assert replaced.value.facts["acknowledged"] == [[3, 3]]
        memory.learn("after")
        assert texts(memory) == {"kept", "after"}
    with opened(path) as memory:
        assert memory.verify().sound
        assert texts(memory) == {"kept", "after"}


def test_while_watermarks_tell_of_the_lost_events_nothing_is_written(
    path: Path, tmp_path: Path
) -> None:
    with opened(path) as memory:
        memory.learn("kept")
        copied(path, tmp_path / "backup.db")
        memory.learn("lost")
        copied(tmp_path / "backup.db", path)
        with pytest.raises(HistoryReplaced):
            memory.status()
        with pytest.raises(LogCorrupt, match=r"delete agent\.db\.heads"):
            memory.learn("after")
        forget(path)
        memory.learn("after")
        assert texts(memory) == {"kept", "after"}


def test_a_file_that_was_replaced_is_neither_read_nor_written(path: Path, tmp_path: Path) -> None:
    with opened(path) as memory:
        memory.learn("lost")
        with opened(tmp_path / "other.db") as other:
            other.learn("of another store")
        moved_over(tmp_path / "other.db", path)
        for ask in (memory.blocks, memory.status, lambda: memory.learn("nowhere to be found")):
            with pytest.raises(StoreFailed, match="it has been replaced"):
                ask()
    with opened(path) as memory:
        assert texts(memory) == {"of another store"}


def test_a_file_that_returns_to_its_place_is_used_again(path: Path, tmp_path: Path) -> None:
    with opened(path) as memory:
        memory.learn("kept")
        path.rename(tmp_path / "elsewhere.db")
        with pytest.raises(StoreFailed):
            memory.blocks()
        (tmp_path / "elsewhere.db").rename(path)
        memory.learn("after")
        assert texts(memory) == {"kept", "after"}


def test_what_is_committed_to_a_file_that_goes_meanwhile_is_not_acknowledged(
    path: Path, tmp_path: Path
) -> None:
    with closing(SQLiteStore(path)) as store:
        log = store.log("home")
        head = log.append(records(0, 1), (), after=EMPTY)

        def replace(statement: str) -> None:
            if statement == "COMMIT":
                path.rename(tmp_path / "elsewhere.db")
                path.write_bytes(b"")

        with store.recorder.datastore.reading() as cursor:
            connection = cursor.connection
        connection.set_trace_callback(replace)  # it came back last, so it is lent next
        with pytest.raises(StoreFailed, match="it has been replaced"):
            log.append(records(1, 1), (), after=head)
        connection.set_trace_callback(None)
        (tmp_path / "elsewhere.db").replace(path)
        assert contents(log) == bare(records(0, 2))


@given(steps=st.lists(st.tuples(st.booleans(), st.integers(1, 3)), min_size=1, max_size=5))
def test_files_that_change_places_are_never_mixed(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[bool, int]]
) -> None:
    """Two histories change places: as rows of the file that is open, or as files."""
    folder = tmp_path_factory.mktemp("exchanged")
    path, other = folder / "agent.db", folder / "other.db"
    sides = [{"common"}, {"common"}]
    with opened(path) as memory:
        memory.learn("common")
    copied(path, other)
    memory = opened(path)
    for place, (by_name, count) in enumerate(steps):
        for number in range(count):
            memory.learn(f"step {place} of the open one {number}")
            sides[0].add(f"step {place} of the open one {number}")
        with opened(other) as elsewhere:
            elsewhere.learn(f"step {place} elsewhere")
            sides[1].add(f"step {place} elsewhere")
        copied(path, folder / "kept.db")
        if by_name:
            moved_over(other, path)
            with pytest.raises(StoreFailed):
                memory.blocks()
            memory.close()
            memory = opened(path)
        else:
            copied(other, path)
            forget(path)
            with pytest.raises(HistoryReplaced):
                memory.blocks()
        (folder / "kept.db").replace(other)
        other.with_name(f"{other.name}.heads").unlink(missing_ok=True)
        sides.reverse()
        assert texts(memory) == sides[0]
        assert memory.verify().sound
    memory.close()
    for file, expected in ((path, sides[0]), (other, sides[1])):
        with opened(file) as found:
            assert found.verify().sound
            assert texts(found) == expected
