"""A SQLite file is changed from outside the store; the damage is found."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from mnemic.adapters.stores.sqlite import SQLiteStore
from mnemic.kernel.errors import HistoryReplaced, LogCorrupt
from mnemic.kernel.ports import CommandRow, Log
from mnemic.specs.contracts.log_entries import payload, records
from tests.adapters.stores.damages import EVERYWHERE, LENGTH, SET_BACK, at, read, swap

Edit = Callable[..., None]
PAGE_BYTES = 4096


@pytest.fixture
def log(store: SQLiteStore) -> Log:
    log = store.log("home")
    log.append(
        records(0, LENGTH), [payload(version) for version in range(LENGTH)], after=log.head()
    )
    return log


def flip(version: int, place: int) -> str:
    """Change the byte at *place* to a question mark or a tilde."""
    byte = f"CASE substr(state, {place}, 1) WHEN X'3f' THEN X'7e' ELSE X'3f' END"
    parts = f"substr(state, 1, {place - 1}) || {byte} || substr(state, {place + 1})"
    return at(version, f"state = CAST({parts} AS BLOB)")


MATRIX = {
    **EVERYWHERE,
    "a byte of a body": ([flip(4, 35)], 4),
    "a byte of the first body": ([flip(0, 35)], 0),
    "a byte of the last body": ([flip(9, 35)], 9),
    "a byte of a previous digest": ([flip(4, 7)], 4),
    "a byte of the first previous digest": ([flip(0, 7)], 0),
    "a byte of the last previous digest": ([flip(9, 32)], 9),
    "a topic that is no text": ([at(4, "topic = CAST(X'ff' AS TEXT)")], 4),
    "a state that is text": ([at(4, "state = 'text'")], 4),
    "the first record gone": (["DELETE FROM stored_events WHERE originator_version = 0"], 0),
    "two neighbours swapped": (swap(3, 4), 3),
    "the first and the last swapped": (swap(0, 9), 0),
    "a digest in the head": (["UPDATE spaces SET digest = zeroblob(32)"], 9),
}


@pytest.mark.parametrize(("statements", "bad"), MATRIX.values(), ids=MATRIX.keys())
def test_damage_is_named_and_all_before_it_is_read(
    log: Log, edit: Edit, statements: tuple[str, ...], bad: int
) -> None:
    edit(*statements)
    assert read(log) == (list(range(bad)), bad)


def test_records_beyond_a_lowered_head_are_found(log: Log, edit: Edit) -> None:
    edit(SET_BACK)
    assert read(log) == (list(range(6)), 6)
    assert read(log, upto=5) == (list(range(6)), None)


def test_an_append_does_not_overwrite_a_stray_record(log: Log, edit: Edit) -> None:
    edit(SET_BACK)
    with pytest.raises(LogCorrupt) as caught:
        log.append(records(6, 1, author="late"), (), after=log.head())
    assert caught.value.facts["version"] == 6
    assert log.head().version == 5


def test_an_append_to_a_changed_head_is_refused(log: Log, edit: Edit) -> None:
    head = log.head()
    edit("UPDATE spaces SET digest = zeroblob(32)")
    with pytest.raises(HistoryReplaced):
        log.append(records(LENGTH, 1), (), after=head)


def test_a_range_is_checked_from_the_record_before_it(log: Log, edit: Edit) -> None:
    edit(flip(4, 35))
    assert read(log, after=4) == ([], 4)
    assert read(log, after=3) == ([], 4)
    assert read(log, after=1) == ([2, 3], 4)
    assert read(log, after=5) == ([6, 7, 8, 9], None)
    assert read(log, upto=3) == ([0, 1, 2, 3], None)
    assert read(log, after=1, upto=4) == ([2, 3], 4)


def test_the_other_spaces_are_unchanged(store: SQLiteStore, log: Log, edit: Edit) -> None:
    store.log("other").append(records(0, 3), (), after=store.log("other").head())
    edit(flip(4, 35) + " AND originator_id = '1'")
    assert read(store.log("other")) == ([0, 1, 2], None)
    assert read(log) == ([0, 1, 2, 3], 4)


def long_log(path: Path, length: int) -> None:
    """Write *length* records one by one, so that old ones come first in the file."""
    with closing(SQLiteStore(path, synchronous="normal")) as store:
        log = store.log("home")
        for version in range(length):
            log.append(records(version, 1, author="x" * 200), (), after=log.head())


def test_a_page_of_garbage_in_the_middle_ends_the_log_there(path: Path) -> None:
    long_log(path, 300)
    with path.open("r+b") as file:
        file.seek(path.stat().st_size // 2 // PAGE_BYTES * PAGE_BYTES)
        file.write(b"\xa5" * PAGE_BYTES)
    with closing(SQLiteStore(path)) as store:
        versions, bad = read(store.log("home"))
    assert 0 < len(versions) < 300
    assert (versions, bad) == (list(range(len(versions))), len(versions))


def test_a_file_cut_short_is_refused_but_can_be_read_up_to_the_cut(path: Path) -> None:
    long_log(path, 1000)
    os.truncate(path, path.stat().st_size // 2)
    with pytest.raises(LogCorrupt) as caught:
        SQLiteStore(path)
    assert "read_only=True" in caught.value.recovery
    with closing(SQLiteStore(path, read_only=True)) as store:
        versions, bad = read(store.log("home"))
    assert 0 < len(versions) < 1000
    assert (versions, bad) == (list(range(len(versions))), len(versions))


def test_a_lost_payload_page_ends_the_log_before_its_record(path: Path) -> None:
    with closing(SQLiteStore(path, synchronous="normal")) as store:
        log = store.log("home")
        for version in range(200):
            log.append(
                records(version, 1), [payload(version, slot) for slot in range(3)], after=log.head()
            )
    with path.open("r+b") as file:
        file.seek(path.stat().st_size * 2 // 3 // PAGE_BYTES * PAGE_BYTES)
        file.write(bytes(PAGE_BYTES))
    with closing(SQLiteStore(path)) as store:
        log = store.log("home")
        with pytest.raises(LogCorrupt):
            list(log.read())
        bad = read(log)[1]
        assert isinstance(bad, int)
        assert all(
            transfer_records == tuple(payload(record.version, slot) for slot in range(3))
            for record, transfer_records in log.read(upto=bad - 1)
        )


# --- what no chain covers -----------------------------------------------------------------------

REQUEST = bytes(range(32))
LOST = bytes(32)


@pytest.fixture
def remembering(path: Path) -> Path:
    """The file of a store that remembers a command, closed."""
    with closing(SQLiteStore(path)) as store:
        command = CommandRow("first", REQUEST, 0, 2)
        store.log("home").append(
            records(0, 3), (), after=store.log("home").head(), commands=(command,)
        )
    return path


@pytest.mark.parametrize("copy", [1, 2])
def test_a_damaged_command_is_not_replayed(remembering: Path, copy: int) -> None:
    before, *after = remembering.read_bytes().split(REQUEST)
    assert len(after) == 2
    middle, end = after
    requests = [LOST if number == copy else REQUEST for number in (1, 2)]
    remembering.write_bytes(before + requests[0] + middle + requests[1] + end)
    with closing(SQLiteStore(remembering)) as store:
        log = store.log("home")
        with pytest.raises(LogCorrupt, match="command 'first' is not as written"):
            log.command("first")
        with pytest.raises(LogCorrupt, match="the table of commands is damaged"):
            log.check()
        assert log.command("second") is None


def test_a_store_of_an_older_release_gets_command_copies(remembering: Path, edit: Edit) -> None:
    edit("DROP INDEX commands_again")
    with closing(SQLiteStore(remembering, read_only=True)) as store:
        assert store.log("home").command("first") == CommandRow("first", REQUEST, 0, 2)
    with closing(SQLiteStore(remembering)) as store:
        store.log("home").check()
    assert remembering.read_bytes().count(REQUEST) == 2


@pytest.mark.parametrize("copy", [1, 2])
def test_no_empty_space_replaces_one_with_a_lost_name(remembering: Path, copy: int) -> None:
    before, *after = remembering.read_bytes().split(b"home")
    assert len(after) == 2
    middle, end = after
    names = [b"hole" if number == copy else b"home" for number in (1, 2)]
    remembering.write_bytes(before + names[0] + middle + names[1] + end)
    with closing(SQLiteStore(remembering)) as store, pytest.raises(LogCorrupt):
        store.log("home")


def test_a_schema_that_cannot_be_read_is_damage(remembering: Path) -> None:
    stored = remembering.read_bytes()
    remembering.write_bytes(stored.replace(b"CREATE TABLE contents", b"CREATE TABLE cont\xffnts"))
    with pytest.raises(LogCorrupt):
        SQLiteStore(remembering)
