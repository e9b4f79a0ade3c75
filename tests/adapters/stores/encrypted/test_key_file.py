"""The file of keys: its errors, and what they never contain."""

from __future__ import annotations

import os
import traceback
import warnings
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from mnemic.adapters.stores.encrypted import KeyTable
from mnemic.adapters.stores.encrypted.erasures import Account
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
    """Become a user who may read the file but not write next to it: root may write everything."""
    user = os.geteuid()
    for folder in file.parents[:4]:  # up to the one that pytest makes for all runs
        folder.chmod(folder.stat().st_mode | 0o055)
    if user == 0:
        os.chown(file, NOBODY, NOBODY)
    file.parent.chmod(0o555)
    os.seteuid(NOBODY if user == 0 else user)
    try:
        yield
    finally:
        os.seteuid(user)
        file.parent.chmod(0o755)


@contextmanager
def rights_of_its_owner(file: Path) -> Generator[None]:
    """Become the owner again for the time of another block."""
    user = os.geteuid()
    os.seteuid(os.getuid())
    file.parent.chmod(0o755)
    try:
        yield
    finally:
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
def test_a_closed_table_raises_closed(table: KeyTable, call: str) -> None:
    table.begin("home", HOME)
    table.close()
    with pytest.raises(Closed):
        CALLS[call](table)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
@pytest.mark.parametrize("call", CALLS)
def test_a_table_used_after_a_fork_is_refused(table: KeyTable, call: str) -> None:
    """SQLite's locks are not valid in a child, which could corrupt the file."""
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


def test_no_secret_appears_in_the_repr_of_a_key(table: KeyTable) -> None:
    key = table.keys(table.begin("home", HOME), {"a"})["a"]

    def fail(about: object) -> None:
        raise ValueError(about)

    with pytest.raises(ValueError, match="Key") as caught:
        fail(key)
    answer = "".join(traceback.format_exception(caught.value)) + repr(key)
    assert repr(key.secret) not in answer
    assert key.secret.hex() not in answer


def test_concurrent_threads_open_the_file_once(file: Path) -> None:
    with closing(KeyTable(file)) as late, closing(KeyTable(file)) as table:
        table.begin("home", HOME)
        with ThreadPoolExecutor(8) as threads:
            found = list(threads.map(lambda _: late.holdings(), range(8)))
        assert found == [table.holdings()] * 8


@pytest.mark.parametrize("left", [0, 1, 100, 4095, 4096, 8192, -4096, -1])
def test_a_truncated_file_is_refused_or_has_every_key(file: Path, left: int) -> None:
    """In no case is a lost key reported as destroyed."""
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
def test_a_reader_in_a_read_only_folder_notices_destroyed_keys(file: Path) -> None:
    """SQLite then assumes that there are no writers, and would never look again."""
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


def test_an_inaccessible_folder_is_named(table: KeyTable) -> None:
    table.begin("home", HOME)
    folder = table.path.parent
    moved = folder.rename(folder.with_name("elsewhere"))
    folder.write_bytes(b"no folder")
    with pytest.raises(MnemicError, match=r"agent\.keys"):
        table.generation()
    folder.unlink()
    moved.rename(folder)
    assert table.generation() == 0
