"""A hostile environment: a full disk, a locked file, no rights, another thread."""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from mnemic.adapters.stores.logs.write_lock import WriteLock
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.stores.sqlite import SQLiteStore
from mnemic.kernel.errors import StoreBusy, StoreFailed, StoreFull, VersionConflict
from mnemic.kernel.ports import PayloadRow, Store
from mnemic.specs.contracts.log_entries import (
    EMPTY,
    bare,
    contents,
    payload,
    records,
)

Opener = Callable[[Path], Store]
EITHER = pytest.mark.parametrize("opened", [lambda _: MemoryStore(), SQLiteStore])
NOBODY = 65534
BY_EFFECT = os.access in os.supports_effective_ids


GOES_WHILE_OPEN = pytest.mark.skipif(
    sys.platform == "win32", reason="no file goes there while it is open"
)


# --- a fork ---


def refused_after_a_fork(ask: Callable[[], object]) -> bool:
    """Return whether a child of this process is refused and told to open the store itself."""
    pid = os.fork()
    if pid == 0:
        answer = 1
        try:
            ask()
        except StoreFailed as error:
            answer = 0 if "after the fork" in error.recovery else 2
        finally:
            os._exit(answer)
    return os.waitpid(pid, 0)[1] == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="children are forked")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # of a fork beside threads
def test_a_store_used_after_a_fork_is_refused(tmp_path: Path) -> None:
    with closing(SQLiteStore(tmp_path / "agent.db")) as store:
        log = store.log("home")
        log.append(records(0, 1), (), after=log.head())

        def write() -> None:
            with log.write_lock():
                log.append(records(1, 1), (), after=log.head())

        assert refused_after_a_fork(log.head)
        assert refused_after_a_fork(lambda: contents(log))
        assert refused_after_a_fork(lambda: log.append(records(1, 1), (), after=log.head()))
        assert refused_after_a_fork(write)
        write()
        assert contents(log) == bare(records(0, 2))


# --- a full disk ---


def pages(store: SQLiteStore, more: int) -> None:
    """Let the file grow by *more* pages and no further."""
    with store.recorder.datastore.get_connection(commit=True) as connection:
        cursor = connection.cursor()
        cursor.execute("PRAGMA page_count")
        cursor.execute(f"PRAGMA max_page_count = {cursor.fetchone()[0] + more}")


def test_a_full_disk_refuses_the_whole_append_and_loses_nothing(store: SQLiteStore) -> None:
    log = store.log("home")
    head = log.append(records(0, 3), [payload(0)], after=log.head())
    pages(store, more=2)
    large = PayloadRow(3, 0, "large", bytes(32), (), bytes(100_000))
    with pytest.raises(StoreFull) as caught:
        log.append(records(3, 1), [large], after=log.head())
    assert "nothing was lost" in caught.value.recovery
    assert (log.head(), [version.version for version, _ in log.read()]) == (head, [0, 1, 2])
    pages(store, more=1000)
    assert log.append(records(3, 1), [large], after=log.head()).version == 3


@pytest.mark.skipif(sys.platform == "win32", reason="no such limit there")
def test_a_file_that_may_not_grow_refuses_the_whole_append(path: Path) -> None:
    import resource  # noqa: PLC0415

    _, hard = limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    with closing(SQLiteStore(path)) as store:
        log = store.log("home")
        head = log.append(records(0, 3), (), after=log.head())
        large = records(3, 1000, author="x" * 300)
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, hard))
        try:
            with pytest.raises((StoreFull, StoreFailed)):
                log.append(large, (), after=log.head())
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert (log.head(), contents(log)) == (head, bare(records(0, 3)))
        log.append(large, (), after=log.head())
        assert contents(log) == bare([*records(0, 3), *large])


# --- locks ---


def test_a_file_locked_by_another_process_is_busy(store: SQLiteStore, path: Path) -> None:
    log = store.log("home")
    log.append(records(0, 1), (), after=log.head())
    with store.recorder.datastore.get_connection(commit=True) as connection:
        connection.cursor().execute("PRAGMA busy_timeout = 0")
    with closing(sqlite3.connect(path)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreBusy):
            log.append(records(1, 1), (), after=log.head())
        assert contents(log) == bare(records(0, 1))
    assert log.append(records(1, 1), (), after=log.head()).version == 1


def test_a_write_lock_held_too_long_is_busy(path: Path) -> None:
    with closing(WriteLock(path)) as one, closing(WriteLock(path, patience_s=0.5)) as two:
        with one.write_lock(), pytest.raises(StoreBusy), two.write_lock():
            pass
        with two.write_lock(), pytest.raises(StoreBusy), two.write_lock():
            pass
        with two.write_lock():
            pass


def test_a_write_lock_without_its_folder_fails(path: Path) -> None:
    with (
        closing(WriteLock(path / "nowhere" / "agent.db")) as queue,
        pytest.raises(StoreFailed),
        queue.write_lock(),
    ):
        pass


# --- rights ---


@pytest.fixture
def plain_user(path: Path) -> Generator[None]:
    """Drop the rights of root for one test, for root may write everything."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(NOBODY)
    try:
        # Where root keeps its temporary files to itself, nobody else can try anything there.
        if not os.access(path.parent, os.R_OK | os.X_OK, effective_ids=BY_EFFECT):
            pytest.skip("nobody but root can come to the folder of this test")
        yield
    finally:
        os.seteuid(user)


@pytest.fixture
def guarded(path: Path) -> Generator[Path]:
    """Return a store in a read-only folder."""
    with closing(SQLiteStore(path)) as store:
        store.log("home").append(records(0, 3), (), after=store.log("home").head())
    for folder in path.parents[:3]:
        folder.chmod(folder.stat().st_mode | 0o055)
    path.chmod(0o444)
    path.parent.chmod(0o555)
    yield path
    path.parent.chmod(0o755)


@pytest.mark.skipif(sys.platform == "win32", reason="rights are others there")
@pytest.mark.usefixtures("guarded", "plain_user")
def test_a_file_that_may_not_be_written_is_read_only(path: Path) -> None:
    with pytest.raises(StoreFailed) as caught:
        SQLiteStore(path)
    assert "read_only=True" in caught.value.recovery
    with closing(SQLiteStore(path, read_only=True)) as store:
        assert contents(store.log("home")) == bare(records(0, 3))


@pytest.mark.skipif(sys.platform == "win32", reason="rights are others there")
def test_a_read_only_file_in_a_writable_folder_is_read_only_too(
    guarded: Path, request: pytest.FixtureRequest
) -> None:
    guarded.parent.chmod(0o777)
    request.getfixturevalue("plain_user")
    with pytest.raises(StoreFailed, match="is read-only"):
        SQLiteStore(guarded)


@GOES_WHILE_OPEN
def test_a_removed_file_is_not_written_to(path: Path, store: SQLiteStore) -> None:
    log = store.log("home")
    head = log.append(records(0, 3), (), after=log.head())
    for file in path.parent.glob(f"{path.name}*"):
        file.unlink()
    with pytest.raises(StoreFailed):
        log.append(records(3, 1), (), after=head)
    with pytest.raises(StoreFailed):
        log.head()


@GOES_WHILE_OPEN
def test_a_replaced_file_is_not_written_to(path: Path, store: SQLiteStore) -> None:
    log = store.log("home")
    head = log.append(records(0, 3), (), after=EMPTY)
    another = path.with_name("another.db")
    with closing(SQLiteStore(another)) as other:
        other.log("home").append(records(0, 1, author="another"), (), after=EMPTY)
    another.replace(path)
    with pytest.raises(StoreFailed, match="it has been replaced"):
        log.append(records(3, 1), (), after=head)
    with pytest.raises(StoreFailed, match="it has been replaced"):
        log.head()


@pytest.mark.skipif(sys.platform == "win32", reason="rights are others there")
@pytest.mark.usefixtures("guarded", "plain_user")
def test_no_file_is_made_in_a_read_only_folder(path: Path) -> None:
    with pytest.raises(StoreFailed):
        SQLiteStore(path.with_name("other.db"))


# --- threads ---


@EITHER
def test_threads_take_turns(opened: Opener, path: Path) -> None:
    with closing(opened(path)) as store, ThreadPoolExecutor(4) as pool:
        log = store.log("home")

        def note(_: int) -> int:
            with log.write_lock():
                return log.append(records(log.head().version + 1, 1), (), after=log.head()).version

        assert sorted(pool.map(note, range(100))) == list(range(100))
        assert contents(log) == bare(records(0, 100))


@EITHER
def test_threads_without_the_write_lock_conflict_and_lose_nothing(
    opened: Opener, path: Path
) -> None:
    with closing(opened(path)) as store, ThreadPoolExecutor(4) as pool:
        log = store.log("home")

        def note(_: int) -> int:
            while True:
                try:
                    return log.append(
                        records(log.head().version + 1, 1), (), after=log.head()
                    ).version
                except VersionConflict:
                    continue

        assert sorted(pool.map(note, range(100))) == list(range(100))
        assert contents(log) == bare(records(0, 100))


@EITHER
def test_a_read_can_be_continued_by_another_thread(opened: Opener, path: Path) -> None:
    with closing(opened(path)) as store, ThreadPoolExecutor(1) as pool:
        log = store.log("home")
        log.append(records(0, 2000), (), after=log.head())
        reader = log.read()
        first = next(reader)
        rest = pool.submit(tuple, reader).result()
        assert [first, *rest] == bare(records(0, 2000))


@EITHER
def test_reading_continues_while_others_write(opened: Opener, path: Path) -> None:
    with closing(opened(path)) as store, ThreadPoolExecutor(1) as pool:
        log = store.log("home")
        log.append(records(0, 10), (), after=log.head())

        def write() -> None:
            for version in range(10, 300):
                log.append(records(version, 1), (), after=log.head())

        writing = pool.submit(write)
        lengths: list[int] = []
        while not writing.done():
            lengths.append(len(contents(log)))
        writing.result()
        assert lengths == sorted(lengths)
        assert contents(log) == bare(records(0, 300))
