"""Tables are changed from outside the store; the damage is found."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.postgres import PostgresLog, PostgresStore
from mnemic.adapters.transfer.backup import backup
from mnemic.adapters.transfer.migration import migrate
from mnemic.kernel.errors import HistoryReplaced, LogCorrupt, VersionConflict
from mnemic.specs.contracts.log_entries import EMPTY, payload, records
from tests.adapters.stores.damages import EVERYWHERE, LENGTH, SET_BACK, at, read

Edit = Callable[..., None]


@pytest.fixture
def log(store: PostgresStore) -> PostgresLog:
    log = store.log("home")
    log.append(
        records(0, LENGTH), [payload(version) for version in range(LENGTH)], after=log.head()
    )
    return log


def flip(version: int, place: int) -> str:
    """Turn a bit of the byte at *place*, counted from 1."""
    byte = f"get_byte(state, {place - 1}) # 1"
    return at(version, f"state = set_byte(state, {place - 1}, {byte})")


MATRIX = {
    **EVERYWHERE,
    "a byte of a body": ([flip(4, 35)], 4),
    "a byte of the first body": ([flip(0, 35)], 0),
    "a byte of the last body": ([flip(9, 35)], 9),
    "a byte of a previous digest": ([flip(4, 7)], 4),
    "a byte of the last previous digest": ([flip(9, 32)], 9),
    "a digest in the head": ([r"UPDATE spaces SET digest = '\x00'"], 9),
}


@pytest.mark.parametrize(("statements", "bad"), MATRIX.values(), ids=MATRIX.keys())
def test_damage_is_named_and_all_before_it_is_read(
    log: PostgresLog, edit: Edit, statements: tuple[str, ...], bad: int
) -> None:
    edit(*statements)
    assert read(log) == (list(range(bad)), bad)


def test_records_beyond_a_lowered_head_are_found(log: PostgresLog, edit: Edit) -> None:
    edit(SET_BACK)
    assert read(log) == (list(range(6)), 6)
    assert read(log, upto=5) == (list(range(6)), None)


def test_an_append_does_not_overwrite_a_stray_record(log: PostgresLog, edit: Edit) -> None:
    edit(SET_BACK)
    with pytest.raises(LogCorrupt) as caught:
        log.append(records(6, 1, author="late"), (), after=log.head())
    assert caught.value.facts["version"] == 6
    assert log.head().version == 5


def test_an_append_to_a_changed_head_is_refused(log: PostgresLog, edit: Edit) -> None:
    head = log.head()
    edit(r"UPDATE spaces SET digest = '\x00'")
    with pytest.raises(HistoryReplaced):
        log.append(records(LENGTH, 1), (), after=head)


# --- a row of the table of spaces is gone -------------------------------------------------------


@pytest.fixture
def rowless(store: PostgresStore, log: PostgresLog, edit: Edit) -> PostgresLog:
    """Return the log of a space whose row was deleted, in a store with another space."""
    store.log("other").append(records(0, 1), [payload(0)], after=EMPTY)
    edit("DELETE FROM spaces WHERE name = 'home'")
    return log


def named(error: LogCorrupt, log: PostgresLog) -> bool:
    """Return whether an error names the space, as far as it can, and what is left of it."""
    return f"number {log.number}" in error.message and f"up to version {LENGTH - 1}" in str(error)


def test_an_open_log_names_the_space_whose_row_is_gone(rowless: PostgresLog) -> None:
    with pytest.raises(LogCorrupt) as caught:
        rowless.head()
    assert named(caught.value, rowless)
    assert "space 'home'" in caught.value.message
    with pytest.raises(VersionConflict):
        rowless.append(records(LENGTH, 1), (), after=rowless.tip)


@pytest.mark.parametrize("space", ["home", "another"])
def test_no_space_is_made_over_one_whose_row_is_gone(
    rowless: PostgresLog, address: str, space: str
) -> None:
    for create in (True, False):
        with closing(PostgresStore(address)) as again:
            with pytest.raises(LogCorrupt) as caught:
                again.log(space, create=create)
            assert named(caught.value, rowless)
            assert again.spaces() == ("other",)
            assert again.log("other").head().version == 0


def test_the_last_row_that_is_gone_is_named_too(log: PostgresLog, address: str, edit: Edit) -> None:
    edit("DELETE FROM spaces", "DELETE FROM payloads")
    with closing(PostgresStore(address)) as again, pytest.raises(LogCorrupt) as caught:
        again.log("home")
    assert named(caught.value, log)


@pytest.mark.usefixtures("rowless")
def test_a_copy_of_all_spaces_is_refused(address: str, tmp_path: Path) -> None:
    for copy in (backup, migrate):
        with pytest.raises(LogCorrupt, match="lost rows of its table of spaces"):
            copy(address, tmp_path / f"{copy.__name__}.db")


def test_a_space_can_be_made_when_the_remains_are_deleted(
    rowless: PostgresLog, address: str, edit: Edit
) -> None:
    edit(f"DELETE FROM stored_events WHERE originator_id = '{rowless.number}'")  # noqa: S608
    with closing(PostgresStore(address)) as again:
        assert again.log("home").head().version == -1


def test_a_number_that_no_space_was_given_is_no_damage(store: PostgresStore, edit: Edit) -> None:
    edit("INSERT INTO spaces (name, version, digest) VALUES ('gap', -1, '')")
    edit("DELETE FROM spaces WHERE name = 'gap'")
    assert store.log("home").head().version == -1


def test_an_open_memory_names_its_space_whose_row_is_gone(address: str, edit: Edit) -> None:
    with SyncMemory.open(address) as memory:
        memory.learn("The demo is on Thursday.")
        edit("DELETE FROM spaces")
        for call in (memory.status, lambda: memory.learn("Ines leads it."), memory.verify):
            with pytest.raises(
                LogCorrupt, match=r"space 'default' \(number 1\), with events up to"
            ):
                call()
