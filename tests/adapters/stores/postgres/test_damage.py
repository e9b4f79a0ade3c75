"""Tables are changed from outside the store; the damage is found."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mnemic.adapters.stores.postgres import PostgresLog, PostgresStore
from mnemic.kernel.errors import HistoryReplaced, LogCorrupt
from mnemic.specs.contracts.log_entries import payload, records
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
