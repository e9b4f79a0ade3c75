"""A file that has lost acknowledged events reports it, and no other file does."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.sqlite import SQLiteLog, SQLiteStore
from mnemic.adapters.stores.sqlite.watermark import SLOT_BYTES
from mnemic.adapters.transfer.backup import backup, restore
from mnemic.adapters.transfer.migration import migrate
from mnemic.adapters.transfer.salvage import salvage
from mnemic.kernel.errors import FieldRefused, LogCorrupt, SpaceNotFound, StoreFailed, StoreMissing
from mnemic.kernel.ports import Log
from mnemic.specs.contracts.log_entries import records
from tests.adapters.stores.damages import read


def beside(path: Path, ending: str) -> Path:
    return path.with_name(f"{path.name}{ending}")


def write(path: Path, first: int, count: int, *, space: str = "home", author: str = "a") -> None:
    with closing(SQLiteStore(path)) as store:
        store.log(space).append(
            records(first, count, author=author), (), after=store.log(space).head()
        )


def files(path: Path) -> dict[Path, bytes]:
    """Return the files that a writer leaves that is killed now."""
    return {
        each: each.read_bytes() for each in (beside(path, end) for end in ("", "-wal", ".heads"))
    }


def lay(found: dict[Path, bytes], path: Path, *, cut: int | None = None) -> Path:
    """Restore files, the write-ahead log cut to *cut* bytes, or by that many if negative."""
    for file, data in found.items():
        file.write_bytes(data[:cut] if file == beside(path, "-wal") else data)
    return path


@pytest.fixture
def torn(path: Path) -> Path:
    """A store whose write-ahead log has lost the last of five events."""
    with closing(SQLiteStore(path)) as store:
        log = store.log("home")
        log.append(records(0, 3), (), after=log.head())
        store.scrub()
        log.append(records(3, 1), (), after=log.head())
        log.append(records(4, 1), (), after=log.head())
        left = files(path)
    return lay(left, path, cut=-1)


def test_reading_to_the_end_reports_a_lost_tail(torn: Path) -> None:
    with closing(SQLiteStore(torn)) as store:
        log = store.log("home")
        assert read(log) == ([0, 1, 2, 3], 4)
        assert read(log, upto=3) == ([0, 1, 2, 3], None)
        assert read(log, upto=4) == ([0, 1, 2, 3], 4)
        assert read(log, after=3) == ([], 4)
    with closing(SQLiteStore(torn, read_only=True)) as store:
        assert read(store.log("home")) == ([0, 1, 2, 3], 4)


def test_the_error_says_what_is_missing_and_what_to_do(torn: Path) -> None:
    with closing(SQLiteStore(torn)) as store, pytest.raises(LogCorrupt) as caught:
        list(store.log("home").read())
    assert caught.value.to_dict() == {
        "code": "log-corrupt",
        "detail": (
            "the log is damaged at version 4: it ends before, and 1 event cannot be found that had "
            "been acknowledged (agent.db.heads records it); its write-ahead log was damaged, or "
            "an older copy has replaced it"
        ),
        "recovery": (
            "Restore a backup, or save what is left with `mnemic salvage DAMAGED TO`; open it with "
            "read_only=True to read it. If this is the state that you want, delete agent.db.heads "
            "beside it."
        ),
        "version": 4,
        "acknowledged": 4,
    }


def test_a_lost_tail_is_found_right_after_an_upgrade(torn: Path) -> None:
    """Earlier releases wrote the same watermark, and two lock files beside it."""
    for ending in (".gate", ".lock"):
        beside(torn, ending).touch()
    for _ in range(2):
        with closing(SQLiteStore(torn)) as store:
            assert read(store.log("home")) == ([0, 1, 2, 3], 4)
        assert not any(beside(torn, ending).exists() for ending in (".gate", ".lock"))


def test_nothing_is_appended_after_a_lost_tail(torn: Path) -> None:
    with closing(SQLiteStore(torn)) as store:
        log = store.log("home")
        with pytest.raises(LogCorrupt):
            log.append(records(4, 1), (), after=log.head())
        assert log.head().version == 3


def test_other_spaces_are_unaffected(path: Path) -> None:
    with closing(SQLiteStore(path)) as store:
        store.log("other").append(records(0, 3), (), after=store.log("other").head())
        store.log("home").append(records(0, 3), (), after=store.log("home").head())
        store.scrub()
        store.log("home").append(records(3, 1), (), after=store.log("home").head())
        left = files(path)
    with closing(SQLiteStore(lay(left, path, cut=0))) as store:
        assert read(store.log("home")) == ([0, 1, 2], 3)
        other = store.log("other")
        other.append(records(3, 1), (), after=other.head())
        assert read(other) == ([0, 1, 2, 3], None)
        other.check()


def test_deleting_the_watermarks_accepts_the_remaining_log(torn: Path) -> None:
    beside(torn, ".heads").unlink()
    with closing(SQLiteStore(torn)) as store:
        log = store.log("home")
        log.append(records(4, 1, author="b"), (), after=log.head())
        assert read(log) == ([0, 1, 2, 3, 4], None)
    with closing(SQLiteStore(torn)) as store:
        assert read(store.log("home")) == ([0, 1, 2, 3, 4], None)


def test_deleting_the_watermarks_takes_effect_in_an_open_store(torn: Path) -> None:
    with closing(SQLiteStore(torn)) as store:
        log = store.log("home")
        with pytest.raises(LogCorrupt):
            log.append(records(4, 1, author="b"), (), after=log.head())
        beside(torn, ".heads").unlink()
        log.append(records(4, 1, author="b"), (), after=log.head())
        log.append(records(5, 1, author="b"), (), after=log.head())
        left = files(torn)
    with closing(SQLiteStore(lay(left, torn, cut=-1))) as store:
        assert read(store.log("home")) == ([0, 1, 2, 3, 4], 5)


def test_a_restored_older_copy_is_detected(path: Path, tmp_path: Path) -> None:
    write(path, 0, 3)
    shutil.copy(path, tmp_path / "older.db")
    write(path, 3, 3)
    shutil.copy(tmp_path / "older.db", path)
    with closing(SQLiteStore(path)) as store:
        assert read(store.log("home")) == ([0, 1, 2], 3)


def test_a_restored_older_copy_that_was_extended_is_detected(path: Path, tmp_path: Path) -> None:
    write(path, 0, 3)
    older = tmp_path / "older.db"
    shutil.copy(path, older)
    write(path, 3, 2)
    write(older, 3, 7, author="b")
    shutil.copy(older, path)
    with closing(SQLiteStore(path)) as store:
        log = store.log("home")
        assert read(log) == ([*range(10)], 4)
        with pytest.raises(LogCorrupt, match="it holds another event"):
            log.append(records(10, 1), (), after=log.head())


def test_a_newer_copy_is_not_a_loss(path: Path, tmp_path: Path) -> None:
    write(path, 0, 3)
    newer = tmp_path / "newer.db"
    shutil.copy(path, newer)
    write(newer, 3, 7)
    shutil.copy(newer, path)
    write(path, 10, 1)
    with closing(SQLiteStore(path)) as store:
        assert read(store.log("home")) == ([*range(11)], None)


@pytest.mark.parametrize("put", [shutil.copy, shutil.move])
@pytest.mark.parametrize("last", [0, 2, 5])
def test_another_store_of_the_same_name_is_not_a_loss(
    path: Path, tmp_path: Path, last: int, put: Callable[[Path, Path], None]
) -> None:
    write(path, 0, 3)
    write(path, 0, 3, space="second")
    other = tmp_path / "other.db"
    write(other, 0, last + 1, author="b")
    put(other, path)
    write(path, last + 1, 1, author="b")
    write(path, 0, 1, space="new", author="b")
    with closing(SQLiteStore(path)) as store:
        assert store.spaces() == ("home", "new")
        assert read(store.log("home")) == ([*range(last + 2)], None)
        assert read(store.log("new")) == ([0], None)
        store.log("home").check()


@pytest.mark.parametrize("put", [shutil.copy, shutil.move])
def test_a_new_space_in_another_store_of_the_same_name_is_not_a_loss(
    path: Path, tmp_path: Path, put: Callable[[Path, Path], None]
) -> None:
    write(path, 0, 3)
    write(path, 0, 3, space="second")
    other = tmp_path / "other.db"
    write(other, 0, 1, author="b")
    put(other, path)
    write(path, 0, 1, space="new", author="b")
    with closing(SQLiteStore(path)) as store:
        assert read(store.log("home")) == ([0], None)
        assert read(store.log("new")) == ([0], None)


def test_a_removed_and_recreated_store_is_not_a_loss(path: Path) -> None:
    write(path, 0, 3)
    write(path, 0, 3, space="second")
    path.unlink()
    with pytest.raises(StoreMissing):
        write(path, 0, 1)
    beside(path, ".heads").unlink()
    write(path, 0, 1)
    with closing(SQLiteStore(path)) as store:
        assert read(store.log("home")) == ([0], None)
        store.log("home").check()


def test_a_store_of_an_older_release_is_not_a_loss(path: Path) -> None:
    write(path, 0, 3)
    known = beside(path, ".heads").read_bytes()
    write(path, 3, 3)
    beside(path, ".heads").write_bytes(known)  # as who knows of no such file leaves it
    write(path, 6, 1)
    with closing(SQLiteStore(path)) as store:
        assert read(store.log("home")) == ([*range(7)], None)


def test_an_empty_slot_is_not_a_loss(path: Path) -> None:
    write(path, 0, 3)
    beside(path, ".heads").write_bytes(b"\xff" * 3 * SLOT_BYTES)
    with closing(SQLiteStore(path)) as store:
        assert read(store.log("home")) == ([0, 1, 2], None)


@pytest.mark.skipif(not hasattr(os, "O_NOFOLLOW"), reason="links are followed here")
def test_nothing_is_written_through_a_symbolic_link(path: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_bytes(b"of somebody else")
    beside(path, ".heads").symlink_to(other)
    with pytest.raises(StoreFailed, match=r"cannot lock .*agent\.db\.heads"):
        write(path, 0, 3)
    assert other.read_bytes() == b"of somebody else"


def test_a_folder_in_place_of_the_lock_file_is_named(path: Path) -> None:
    beside(path, ".heads").mkdir()
    with pytest.raises(StoreFailed, match=r"cannot lock .*agent\.db\.heads"):
        write(path, 0, 3)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may do anything")
def test_a_reader_of_a_frozen_file_ignores_later_watermarks(path: Path, tmp_path: Path) -> None:
    write(path, 0, 3)
    stored, before = path.read_bytes(), beside(path, ".heads").read_bytes()
    write(path, 3, 1)
    later = beside(path, ".heads").read_bytes()
    path.write_bytes(stored)
    beside(path, ".heads").write_bytes(before)
    tmp_path.chmod(0o500)  # so that SQLite takes the file as it stands
    try:
        with closing(SQLiteStore(path, read_only=True)) as store:
            beside(path, ".heads").write_bytes(later)  # somebody elsewhere has written meanwhile
            assert read(store.log("home")) == ([0, 1, 2], None)
        with closing(SQLiteStore(path, read_only=True)) as store:
            assert read(store.log("home")) == ([0, 1, 2], 3)
    finally:
        tmp_path.chmod(0o700)


# --- spaces that are lost as a whole --------------------------------------------------------


@pytest.fixture
def bereft(path: Path) -> Path:
    """A store whose write-ahead log has lost its last two spaces."""
    with closing(SQLiteStore(path)) as store:
        store.log("home").append(records(0, 3), (), after=store.log("home").head())
        store.scrub()
        store.log("second").append(records(0, 2), (), after=store.log("second").head())
        store.log("third").append(records(0, 4), (), after=store.log("third").head())
        left = files(path)
    return lay(left, path, cut=0)


def test_no_new_space_takes_the_number_of_a_lost_one(bereft: Path) -> None:
    with closing(SQLiteStore(bereft)) as store:
        for space in ("second", "new"):
            with pytest.raises(LogCorrupt, match="2 spaces with 6 events cannot be found"):
                store.log(space)
        with pytest.raises(LogCorrupt), store.draft("new"):
            pytest.fail("nothing is to be made")
        assert store.spaces() == ("home",)
        assert read(store.log("home")) == ([0, 1, 2], None)
        with pytest.raises(LogCorrupt):
            store.log("home").check()
    beside(bereft, ".heads").unlink()
    write(bereft, 0, 1, space="new")


def test_a_moved_store_still_detects_its_loss(bereft: Path, tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.mkdir()
    for ending in ("", "-wal", ".heads"):
        shutil.copy(beside(bereft, ending), there)
    with closing(SQLiteStore(there / bereft.name)) as store, pytest.raises(LogCorrupt):
        store.log("new")


def test_a_store_that_lost_everything_is_not_treated_as_new(path: Path) -> None:
    with closing(SQLiteStore(path)) as store:
        store.log("home").append(records(0, 3), (), after=store.log("home").head())
        left = files(path)
    with closing(SQLiteStore(lay(left, path, cut=0))) as store, pytest.raises(LogCorrupt):
        store.log("home")


def test_a_nonexistent_space_is_not_a_loss(path: Path) -> None:
    write(path, 0, 3)
    with closing(SQLiteStore(path)) as store, pytest.raises(SpaceNotFound):
        store.log("elsewhere", create=False)


# --- drafts ---------------------------------------------------------------------------------


def give_up(draft: Log) -> None:
    """Write something, and then an event that leaves a gap."""
    draft.append(records(0, 5), (), after=draft.head())
    draft.append(records(9, 1), (), after=draft.head())


def test_an_abandoned_staged_space_leaves_no_watermark(path: Path) -> None:
    with closing(SQLiteStore(path)) as store:
        with pytest.raises(FieldRefused), store.draft("home") as draft:
            give_up(draft)
        with store.draft("home") as draft:
            draft.append(records(0, 2, author="b"), (), after=draft.head())
        assert read(store.log("home")) == ([0, 1], None)
    with closing(SQLiteStore(path)) as store:
        log = store.log("home")
        assert read(log) == ([0, 1], None)
        assert isinstance(log, SQLiteLog)
        log.check()


def test_a_completed_staged_space_is_acknowledged(path: Path) -> None:
    with closing(SQLiteStore(path)) as store:
        store.scrub()
        before = path.read_bytes()
        with store.draft("home") as draft:
            draft.append(records(0, 2), (), after=draft.head())
    path.write_bytes(before)
    with closing(SQLiteStore(path)) as store, pytest.raises(LogCorrupt):
        store.log("home")


# --- whole memories -------------------------------------------------------------------------


@pytest.fixture
def memory_torn(path: Path) -> Path:
    """A memory that has lost the last of two facts."""
    with SyncMemory.open(path, embedder=HashEmbedder()) as memory:
        memory.learn("the gate sticks")
        memory.checkpoint()
        memory.learn("the crane needs oil")
        left = files(path)
    return lay(left, path, cut=-1)


def test_a_memory_with_a_lost_tail_opens_read_only(memory_torn: Path, tmp_path: Path) -> None:
    with pytest.raises(LogCorrupt) as caught:
        SyncMemory.open(memory_torn)
    assert caught.value.facts == {"version": 3, "acknowledged": 3}
    with SyncMemory.open(memory_torn, read_only=True) as memory:
        assert [block.content for block in memory.blocks().items] == ["the gate sticks"]
        assert "cannot be found" in memory.status().alerts[0]
        found = memory.verify()
        assert (found.sound, found.first_bad_version) == (False, 3)
        assert memory.export(tmp_path / "left.jsonl", upto=2).version == 2
        with pytest.raises(LogCorrupt):
            memory.export(tmp_path / "all.jsonl")


def test_a_memory_with_a_lost_tail_can_be_salvaged_but_not_copied(
    memory_torn: Path, tmp_path: Path
) -> None:
    with pytest.raises(LogCorrupt):
        backup(memory_torn, tmp_path / "backup.db")
    with pytest.raises(LogCorrupt):
        migrate(memory_torn, tmp_path / "moved.db")
    result = salvage(memory_torn, tmp_path / "saved.db")
    assert [(each.version, each.lost) for each in result.spaces] == [(2, 1)]
    assert not result.complete
    with SyncMemory.open(tmp_path / "saved.db", embedder=HashEmbedder()) as memory:
        memory.learn("the crane has oil")
        assert memory.verify().sound


def test_a_salvage_says_that_spaces_are_lost(path: Path, tmp_path: Path) -> None:
    with SyncMemory.open(path, embedder=HashEmbedder()) as memory:
        memory.learn("the gate sticks")
    with SyncMemory.open(path, space="second", embedder=HashEmbedder()) as memory:
        memory.learn("the crane needs oil")
        left = files(path)
    result = salvage(lay(left, path, cut=0), tmp_path / "saved.db")
    assert [(each.space, each.problem) for each in result.spaces] == [("default", None)]
    assert "1 space with 3 events cannot be found" in str(result.problem)
    assert not result.complete


def test_a_backup_restored_over_a_removed_newer_store_is_not_a_loss(
    path: Path, tmp_path: Path
) -> None:
    with SyncMemory.open(path, embedder=HashEmbedder()) as memory:
        memory.learn("the gate sticks")
        backup(path, tmp_path / "backup.db")
        memory.learn("the crane needs oil")
    path.unlink()
    restore(tmp_path / "backup.db", path)
    with SyncMemory.open(path, embedder=HashEmbedder()) as memory:
        memory.learn("the crane has oil")
        assert memory.verify().sound
