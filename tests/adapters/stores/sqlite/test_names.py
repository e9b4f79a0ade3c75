"""One database under two names: refused, since each name has a write-ahead log of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.encrypted.keys import KeyTable
from mnemic.adapters.stores.sqlite import SQLiteStore
from mnemic.kernel.errors import StoreHasTwoNames
from mnemic.specs.contracts.log_entries import bare, contents, records

linux = pytest.mark.skipif(sys.platform != "linux", reason="locks of open files are Linux's")

OPENER = """
import sys
from mnemic.adapters.stores.sqlite import SQLiteStore
from mnemic.kernel.errors import MnemicError
try:
    store = SQLiteStore(sys.argv[1], read_only=sys.argv[2] == "read")
except MnemicError as error:
    print(error.code, flush=True)
else:
    print("opened", flush=True)
    sys.stdin.read()
"""


@contextmanager
def another_process(path: Path, mode: str = "write") -> Generator[str]:
    """Open *path* in another process, and yield ``opened`` or the error's code."""
    with subprocess.Popen(
        [sys.executable, "-c", OPENER, str(path), mode],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.communicate()


def outcome(path: Path, mode: str = "write") -> str:
    """Return how another process opens *path*, and let it close it."""
    with another_process(path, mode) as found:
        return found


@pytest.fixture
def written(tmp_path: Path) -> Path:
    path = tmp_path / "agent.db"
    with closing(SQLiteStore(path)) as store:
        store.log("home").append(records(0, 3), (), after=store.log("home").head())
    return path


@contextmanager
def mounted(source: Path, target: Path) -> Generator[None]:
    """Mount a file or a folder at another path, as a container does."""
    made = subprocess.run(["mount", "--bind", source, target], capture_output=True, check=False)  # noqa: S607
    if made.returncode:
        pytest.skip("mounting takes the rights of root")
    try:
        yield
    finally:
        subprocess.run(["umount", target], check=True)  # noqa: S607


# --- links --------------------------------------------------------------------------------------


@pytest.mark.parametrize("read_only", [False, True])
def test_a_file_with_two_links_is_refused_by_either(written: Path, *, read_only: bool) -> None:
    other = written.with_name("other.db")
    other.hardlink_to(written)
    before = written.read_bytes()
    for path in (written, other):
        with pytest.raises(StoreHasTwoNames, match=r"has 2 names") as caught:
            SQLiteStore(path, read_only=read_only)
        assert caught.value.facts == {"path": str(path), "links": 2}
    assert {each.name for each in written.parent.iterdir()} == {
        "agent.db",
        "agent.db.heads",
        "other.db",
    }
    assert written.read_bytes() == before


def test_a_memory_of_a_linked_file_says_so_and_opens_once_the_link_is_gone(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    SyncMemory.open(path).close()
    (tmp_path / "link.db").hardlink_to(path)
    with pytest.raises(StoreHasTwoNames) as caught:
        SyncMemory.open(tmp_path / "link.db")
    assert (caught.value.code, caught.value.status) == ("store-has-two-names", 503)
    (tmp_path / "link.db").unlink()
    SyncMemory.open(path).close()


def test_a_link_made_while_open_stops_writing_until_it_is_gone(written: Path) -> None:
    other = written.with_name("other.db")
    with closing(SQLiteStore(written)) as store:
        log = store.log("home")
        log.append(records(3, 1), (), after=log.head())
        other.hardlink_to(written)
        with pytest.raises(StoreHasTwoNames):
            log.append(records(4, 1), (), after=log.head())
        with pytest.raises(StoreHasTwoNames):
            SQLiteStore(other)
        other.unlink()
        log.append(records(4, 1), (), after=log.head())
        assert contents(log) == bare(records(0, 5))


def test_a_second_link_that_goes_at_once_is_waited_for(written: Path) -> None:
    other = written.with_name("other.db")
    other.hardlink_to(written)

    def finish() -> None:
        time.sleep(0.1)
        other.unlink()

    thread = threading.Thread(target=finish)
    thread.start()
    SQLiteStore(written).close()
    thread.join()


def test_symbolic_links_lead_to_one_file_and_one_lock_file(written: Path, tmp_path: Path) -> None:
    (tmp_path / "links").mkdir()
    link = tmp_path / "links" / "agent.db"
    link.symlink_to(written)
    with closing(SQLiteStore(written)) as one, closing(SQLiteStore(link)) as two:
        one.log("home").append(records(3, 1), (), after=one.log("home").head())
        two.log("home").append(records(4, 1), (), after=two.log("home").head())
        assert contents(one.log("home")) == contents(two.log("home")) == bare(records(0, 5))
        assert [each.name for each in link.parent.iterdir()] == ["agent.db"]


def test_a_key_file_with_two_links_is_refused(tmp_path: Path) -> None:
    keys = tmp_path / "keys.db"
    with SyncMemory.open(tmp_path / "agent.db", keys=keys) as memory:
        memory.learn("a fact")
    (tmp_path / "other.db").hardlink_to(keys)
    with pytest.raises(StoreHasTwoNames):
        KeyTable(keys)


# --- other names of one file --------------------------------------------------------------------


@linux
@pytest.mark.parametrize("mode", ["write", "read"])
def test_a_file_moved_while_open_is_refused_under_its_new_name(written: Path, mode: str) -> None:
    moved = written.with_name("moved.db")
    with closing(SQLiteStore(written)):
        written.rename(moved)
        assert outcome(moved, mode) == "store-has-two-names"
        with pytest.raises(StoreHasTwoNames, match="under another name"):
            SQLiteStore(moved)
    assert outcome(moved, mode) == "opened"


def test_a_file_moved_while_open_takes_its_last_commits_along(written: Path) -> None:
    moved = written.with_name("moved.db")
    store = SQLiteStore(written)
    store.log("home").append(records(3, 1), (), after=store.log("home").head())
    written.rename(moved)
    store.close()
    with closing(SQLiteStore(moved)) as store:
        assert contents(store.log("home")) == bare(records(0, 4))


@linux
@pytest.mark.extended
def test_a_file_mounted_by_itself_is_refused_while_open(written: Path, tmp_path: Path) -> None:
    target = tmp_path / "mounted.db"
    target.touch()
    with mounted(written, target):
        with closing(SQLiteStore(written)) as store:
            store.log("home").append(records(3, 1), (), after=store.log("home").head())
            assert outcome(target) == outcome(target, "read") == "store-has-two-names"
            with pytest.raises(StoreHasTwoNames) as caught:
                SQLiteStore(target)
            assert "mount the folder" in caught.value.recovery
            assert outcome(written) == "opened"
            store.log("home").append(records(4, 1), (), after=store.log("home").head())
        assert outcome(target) == "opened"  # alone, it may


@linux
@pytest.mark.extended
def test_a_folder_mounted_elsewhere_is_the_same_folder(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    with mounted(here, there), closing(SQLiteStore(here / "agent.db")) as one:
        one.log("home").append(records(0, 2), (), after=one.log("home").head())
        assert outcome(there / "agent.db") == "opened"
        with closing(SQLiteStore(there / "agent.db")) as two:
            two.log("home").append(records(2, 1), (), after=two.log("home").head())
            assert contents(one.log("home")) == bare(records(0, 3))


@linux
def test_a_killed_process_leaves_no_registration(written: Path) -> None:
    moved = written.with_name("moved.db")
    with another_process(written) as opened:
        assert opened == "opened"
        written.rename(moved)
        assert outcome(moved) == "store-has-two-names"
    assert outcome(moved) == "opened"


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="descriptors are not listed here")
@pytest.mark.parametrize("path_of", [lambda path: path, lambda path: path.with_name("new.db")])
def test_every_descriptor_is_closed_with_the_last_store(
    written: Path, path_of: Callable[[Path], Path]
) -> None:
    path = path_of(written)

    def held() -> int:
        targets = [os.path.realpath(each) for each in Path("/proc/self/fd").iterdir()]
        return sum(target.startswith(str(path)) for target in targets)

    one, two = SQLiteStore(path), SQLiteStore(path)
    one.close()
    assert held() > 0
    two.close()
    assert held() == 0
