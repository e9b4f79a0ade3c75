"""The file of keys itself: what is said of it where it fails, and what it never says."""

from __future__ import annotations

import os
import traceback
import warnings
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from mnemic.adapters.encryption import KeyTable
from mnemic.adapters.encryption.erasures import Account
from mnemic.kernel.errors import Closed, KeysMissing, MnemicError, NotAStore, StoreFailed

HOME = b"genesis"
NOBODY = 65534


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "agent.keys"


@pytest.fixture
def table(file: Path) -> Generator[KeyTable]:
    with closing(KeyTable(file)) as opened:
        yield opened


@contextmanager
def rights_of_a_reader(file: Path) -> Generator[None]:
    """Be somebody who may read the file, and write nothing beside it: root may write everything."""
    user = os.geteuid()
    for folder in file.parents[:3]:
        folder.chmod(folder.stat().st_mode | 0o055)
    if user == 0:
        os.chown(file, NOBODY, NOBODY)
    file.parent.chmod(0o555)
    os.seteuid(NOBODY if user == 0 else user)
    yield
    os.seteuid(user)
    file.parent.chmod(0o755)


@contextmanager
def rights_of_its_owner(file: Path) -> Generator[None]:
    """Be the one again who may, for the time of another block."""
    user = os.geteuid()
    os.seteuid(os.getuid())
    file.parent.chmod(0o755)
    yield
    file.parent.chmod(0o555)
    os.seteuid(user)


CALLS: dict[str, Callable[[KeyTable], object]] = {
    "generation": lambda table: table.generation(),
    "find": lambda table: table.find([bytes(12)]),
    "keys": lambda table: table.keys(1, {"a"}),
    "begin": lambda table: table.begin("home", HOME),
    "intend": lambda table: table.intend(1, {"a"}, Account(1, b"digest")),
    "fulfil": lambda table: table.fulfil(1),
    "holdings": lambda table: table.holdings(),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_table_that_is_closed_says_so(table: KeyTable, call: str) -> None:
    table.begin("home", HOME)
    table.close()
    with pytest.raises(Closed):
        CALLS[call](table)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
@pytest.mark.parametrize("call", CALLS)
def test_a_table_that_was_carried_across_a_fork_is_refused(table: KeyTable, call: str) -> None:
    """SQLite's locks are not true in a child, which could spoil the file."""
    table.begin("home", HOME)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of a fork beside threads
        child = os.fork()
    if not child:
        try:
            CALLS[call](table)
        except StoreFailed:
            os._exit(7)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_no_secret_shows_where_a_key_is_shown(table: KeyTable) -> None:
    key = table.keys(table.begin("home", HOME), {"a"})["a"]

    def fail(about: object) -> None:
        raise ValueError(about)

    with pytest.raises(ValueError, match="Key") as caught:
        fail(key)
    told = "".join(traceback.format_exception(caught.value)) + repr(key)
    assert repr(key.secret) not in told
    assert key.secret.hex() not in told


def test_threads_that_find_a_file_at_once_open_it_once(file: Path) -> None:
    with closing(KeyTable(file)) as late, closing(KeyTable(file)) as table:
        table.begin("home", HOME)
        with ThreadPoolExecutor(8) as threads:
            found = list(threads.map(lambda _: late.holdings(), range(8)))
        assert found == [table.holdings()] * 8


@pytest.mark.parametrize("left", [0, 1, 100, 4095, 4096, 8192, -4096, -1])
def test_a_file_that_was_cut_says_so_or_has_every_key(file: Path, left: int) -> None:
    """And in no case does a lost key pass for one that was destroyed."""
    with closing(KeyTable(file)) as table:
        space = table.begin("home", HOME)
        made = table.keys(space, {f"{each}" for each in range(200)})
        table.fulfil(table.intend(space, {"7"}, Account(1, b"digest")))
    whole = file.read_bytes()
    file.write_bytes(whole[:left])
    kept = {each.name: (each,) for owner, each in made.items() if owner != "7"}
    try:
        with closing(KeyTable(file, read_only=True)) as cut:
            found = {name: cut.find([name]) for name in kept}
    except (StoreFailed, NotAStore, KeysMissing):
        return
    assert found == kept


@pytest.mark.skipif(os.name != "posix", reason="rights are others there")
def test_a_reader_that_may_make_no_file_notices_what_others_destroy(file: Path) -> None:
    """SQLite believes then that nobody writes, and would never look again."""
    with closing(KeyTable(file)) as table:
        space = table.begin("home", HOME)
        made = table.keys(space, {"a", "b"})
    with rights_of_a_reader(file), closing(KeyTable(file, read_only=True)) as reader:
        assert reader.find([made["a"].name]) == (made["a"],)
        with rights_of_its_owner(file), closing(KeyTable(file)) as table:
            table.fulfil(table.intend(space, {"a"}, Account(1, b"digest")))
        reader.refresh(space)
        assert reader.find([made["a"].name]) is None
        assert reader.find([made["b"].name]) == (made["b"],)


def test_a_folder_that_may_not_be_entered_any_more_is_named(table: KeyTable) -> None:
    table.begin("home", HOME)
    folder = table.path.parent
    moved = folder.rename(folder.with_name("elsewhere"))
    folder.write_bytes(b"no folder")
    with pytest.raises(MnemicError, match=r"agent\.keys"):
        table.generation()
    folder.unlink()
    moved.rename(folder)
    assert table.generation() == 0
