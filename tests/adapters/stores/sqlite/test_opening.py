"""Which files a SQLite store opens, makes or refuses, and what it leaves behind."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from mnemic.adapters.stores.logs.write_lock import LockFile
from mnemic.adapters.stores.sqlite import SQLiteStore
from mnemic.kernel.errors import (
    Closed,
    MnemicError,
    NotAStore,
    SpaceNotFound,
    StoreFailed,
    StoreTooNew,
    ViewReadOnly,
)
from mnemic.specs.contracts.log_entries import bare, contents, records

Edit = Callable[..., None]
BOTH = pytest.mark.parametrize("read_only", [False, True], ids=["to write", "to read"])


def refusal(path: Path, *, read_only: bool = False) -> MnemicError:
    with pytest.raises(MnemicError) as caught:
        SQLiteStore(path, read_only=read_only)
    return caught.value


def names(folder: Path) -> set[str]:
    return {entry.name for entry in folder.iterdir()}


@pytest.fixture
def written(path: Path) -> Path:
    with closing(SQLiteStore(path)) as store:
        store.log("home").append(records(0, 3), (), after=store.log("home").head())
    return path


# --- files that are ours ---


def test_a_path_that_does_not_exist_is_made(path: Path) -> None:
    SQLiteStore(path).close()
    with closing(SQLiteStore(path)) as store:
        assert store.spaces() == ()


def test_a_path_may_be_text_and_hold_any_character(tmp_path: Path) -> None:
    path = tmp_path / "50% of #1? Ä :memory: mode=memory.db"
    with closing(SQLiteStore(str(path))) as store:
        store.log("home").append(records(0, 1), (), after=store.log("home").head())
    assert path.is_file()


def test_an_empty_file_is_taken_as_new(path: Path) -> None:
    path.touch()
    with closing(SQLiteStore(path)) as store:
        assert (
            store.log("home").append(records(0, 1), (), after=store.log("home").head()).version == 0
        )


def test_the_header_identifies_the_application(written: Path) -> None:
    header = written.read_bytes()[:72]
    assert (header[60:64], header[68:72]) == (b"\0\0\0\1", b"mnem")


def test_an_open_store_has_three_files_beside_it_and_a_closed_one_has_one(path: Path) -> None:
    with closing(SQLiteStore(path)) as store:
        log = store.log("home")
        with log.write_lock():
            log.append(records(0, 1), (), after=log.head())
        beside = {f"agent.db{ending}" for ending in ("-wal", "-shm", ".heads")}
        assert names(path.parent) == {"agent.db", *beside}
    assert names(path.parent) == {"agent.db", "agent.db.heads"}


def test_the_lock_files_of_earlier_releases_are_removed(written: Path) -> None:
    for ending in (".gate", ".lock"):
        written.with_name(f"agent.db{ending}").touch()
    SQLiteStore(written).close()
    assert names(written.parent) == {"agent.db", "agent.db.heads"}


def test_a_lock_file_in_use_or_of_the_host_is_left(written: Path) -> None:
    gate, lock = (written.with_name(f"agent.db{ending}") for ending in (".gate", ".lock"))
    lock.touch()
    SQLiteStore(written).close()
    assert lock.exists()
    with closing(LockFile(gate)) as held:
        assert held.taken()
        SQLiteStore(written).close()
        assert gate.exists()


def test_a_copy_of_the_database_alone_opens(written: Path, tmp_path: Path) -> None:
    (tmp_path / "copies").mkdir()
    copy = tmp_path / "copies" / "agent.db"
    copy.write_bytes(written.read_bytes())
    with closing(SQLiteStore(copy)) as store:
        log = store.log("home")
        assert log.append(records(log.head().version + 1, 1), (), after=log.head()).version > 0
        store.check_spaces()


@pytest.mark.parametrize(("synchronous", "level"), [("full", 2), ("normal", 1)])
def test_every_connection_is_as_durable_and_forgetful_as_asked(
    path: Path, synchronous: str, level: int
) -> None:
    pragmas = ("synchronous", "secure_delete", "temp_store", "journal_mode")
    with closing(SQLiteStore(path, synchronous=synchronous)) as store:  # type: ignore[arg-type]
        datastore = store.recorder.datastore
        with datastore.reading(), datastore.reading() as second:
            values = [second.execute(f"PRAGMA {name}").fetchone()[0] for name in pragmas]
    assert values == [level, 1, 2, "wal"]


# --- files that are not ---


@BOTH
@pytest.mark.parametrize(
    "content", [b"hello", b"\0" * 100, b"hello, world\n" * 1000], ids=["word", "zeroes", "text"]
)
def test_a_file_that_is_no_database_is_refused_untouched(
    path: Path, content: bytes, *, read_only: bool
) -> None:
    path.write_bytes(content)
    assert isinstance(refusal(path, read_only=read_only), NotAStore)
    assert (path.read_bytes(), names(path.parent)) == (content, {"agent.db"})


@BOTH
def test_a_database_of_another_program_is_refused_untouched(
    path: Path, edit: Edit, *, read_only: bool
) -> None:
    edit("CREATE TABLE cats (name TEXT)")
    content = path.read_bytes()
    assert isinstance(refusal(path, read_only=read_only), NotAStore)
    assert (path.read_bytes(), names(path.parent)) == (content, {"agent.db"})


@BOTH
@pytest.mark.parametrize("pragma", ["application_id = 7", "user_version = 0"])
def test_a_file_with_a_foreign_header_is_refused(
    written: Path, edit: Edit, pragma: str, *, read_only: bool
) -> None:
    edit(f"PRAGMA {pragma}")
    assert isinstance(refusal(written, read_only=read_only), NotAStore)


@BOTH
def test_a_file_of_a_later_release_is_refused(
    written: Path, edit: Edit, *, read_only: bool
) -> None:
    edit("PRAGMA user_version = 2")
    error = refusal(written, read_only=read_only)
    assert isinstance(error, StoreTooNew)
    assert error.facts == {"path": str(written), "format": 2}


@BOTH
def test_garbage_in_the_header_is_refused(written: Path, *, read_only: bool) -> None:
    content = written.read_bytes()
    written.write_bytes(b"\xa5" * 100 + content[100:])
    assert isinstance(refusal(written, read_only=read_only), NotAStore)


@BOTH
def test_a_folder_is_refused(tmp_path: Path, *, read_only: bool) -> None:
    assert isinstance(refusal(tmp_path, read_only=read_only), NotAStore)


# --- places that cannot be used ---


def test_a_missing_folder_is_named_in_the_recovery(tmp_path: Path) -> None:
    error = refusal(tmp_path / "nowhere" / "agent.db")
    assert isinstance(error, StoreFailed)
    assert error.recovery == f"Make the folder {tmp_path / 'nowhere'}, or name another path."


def test_a_file_in_place_of_the_folder_is_refused(path: Path) -> None:
    path.touch()
    assert isinstance(refusal(path / "agent.db"), StoreFailed)


def test_a_read_only_folder_is_refused(written: Path) -> None:
    written.with_name("agent.db-wal").mkdir()
    error = refusal(written)
    assert isinstance(error, StoreFailed)
    assert error.recovery == "Check that the path names a file in a folder where files can be made."


# --- read_only ---


def test_reading_only_makes_no_file(path: Path) -> None:
    error = refusal(path, read_only=True)
    assert isinstance(error, StoreFailed)
    assert not path.exists()


def test_an_empty_file_has_nothing_to_read(path: Path) -> None:
    path.touch()
    assert isinstance(refusal(path, read_only=True), NotAStore)


def test_reading_only_reads_everything_and_writes_nothing(written: Path) -> None:
    content = written.read_bytes()
    with closing(SQLiteStore(written, read_only=True)) as store:
        log = store.log("home")
        assert (store.spaces(), contents(log)) == (("home",), bare(records(0, 3)))
        with pytest.raises(ViewReadOnly):
            log.append(records(3, 1), (), after=log.head())
        with pytest.raises(ViewReadOnly):
            log.write_lock()
        with pytest.raises(SpaceNotFound):
            store.log("away")
    assert written.read_bytes() == content


def test_a_reader_sees_what_a_writer_elsewhere_appends(path: Path) -> None:
    with closing(SQLiteStore(path)) as writer:
        writer.log("home").append(records(0, 1), (), after=writer.log("home").head())
        with closing(SQLiteStore(path, read_only=True)) as reader:
            writer.log("home").append(records(1, 1), (), after=writer.log("home").head())
            assert contents(reader.log("home")) == bare(records(0, 2))


def test_a_closed_file_can_be_read_in_a_read_only_folder(written: Path) -> None:
    written.with_name("agent.db-shm").mkdir()  # stands in the way of what SQLite would make
    with closing(SQLiteStore(written, read_only=True)) as store:
        assert contents(store.log("home")) == bare(records(0, 3))


# --- closing ---


def test_a_closed_store_raises_closed(store: SQLiteStore) -> None:
    log = store.log("home")
    with log.write_lock():
        log.append(records(0, 1), (), after=log.head())
    store.close()
    with pytest.raises(Closed):
        log.head()
    with pytest.raises(Closed):
        log.append(records(1, 1), (), after=log.head())
    with pytest.raises(Closed):
        list(log.read())
    with pytest.raises(Closed), log.write_lock():
        pass
    with pytest.raises(Closed):
        store.spaces()


def test_an_unfinished_read_holds_no_lock(path: Path) -> None:
    store = SQLiteStore(path)
    log = store.log("home")
    log.append(records(0, 2000), (), after=log.head())
    reader = log.read()
    next(reader)
    store.close()
    with closing(sqlite3.connect(path)) as other:
        assert other.execute("PRAGMA journal_mode = DELETE").fetchone() == ("delete",)


def test_concurrent_opening_makes_a_new_file_once(tmp_path: Path) -> None:
    def come(number: int) -> tuple[str, ...]:
        with closing(SQLiteStore(tmp_path / f"{number // 4}.db", synchronous="normal")) as store:
            store.log("home")
            return store.spaces()

    with ThreadPoolExecutor(4) as comers:
        assert set(comers.map(come, range(400))) == {("home",)}
