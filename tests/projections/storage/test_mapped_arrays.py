"""Large arrays are mapped separately and behave like all other arrays."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from mnemic.projections.storage.columns import VersionedTable
from mnemic.projections.storage.growable_array import grown
from mnemic.projections.storage.mapped_arrays import (
    PAGED_FROM,
    claimed_room,
    lend_room,
    take_room_back,
    zeros,
)


@pytest.mark.parametrize("rows", [0, 1, PAGED_FROM // 16 - 1, PAGED_FROM // 16, PAGED_FROM])
def test_zeros_are_zeros_of_any_size(rows: int) -> None:
    found = zeros((rows, 2), np.int64)
    assert (found.shape, found.dtype, int(found.sum())) == ((rows, 2), np.dtype(np.int64), 0)
    found += 1
    assert int(found.sum()) == 2 * rows


def test_an_array_that_grows_leaves_the_old_one_as_it_was() -> None:
    before = np.arange(PAGED_FROM, dtype=np.int32)
    after = grown(before, PAGED_FROM + 1, fill=-1)
    after[0] = 7
    assert (len(after), int(before[0]), int(after[PAGED_FROM])) == (2 * PAGED_FROM, 0, -1)
    assert after[1:PAGED_FROM].tolist() == before[1:].tolist()


def lent(values: list[int], room: int) -> NDArray[np.int32]:
    """Return an array with room for *room* values, the first of which are given."""
    whole = np.zeros(room, dtype=np.int32)
    array = whole[: len(values)]
    array[:] = values
    array.flags.writeable = False
    lend_room(array, lambda: whole.view(np.uint8))
    return array


def test_an_array_with_room_behind_it_grows_where_it_is() -> None:
    before = lent([1, 2, 3], room=8)
    after = grown(before, 4)
    after[3] = 4
    assert after.ctypes.data == before.ctypes.data
    assert (after[:4].tolist(), before.tolist(), len(after)) == ([1, 2, 3, 4], [1, 2, 3], 8)


def test_only_the_first_of_two_that_share_an_array_grows_in_place() -> None:
    shared = lent([1, 2, 3], room=8)
    one, other = grown(shared, 4), grown(shared, 4)
    one[3], other[3] = 4, 5
    assert (one[:4].tolist(), other[:4].tolist()) == ([1, 2, 3, 4], [1, 2, 3, 5])


def test_what_would_write_over_others_or_beyond_the_room_is_copied() -> None:
    shared = lent([1, 2, 3], room=8)
    assert claimed_room(shared[:2]) is None  # the third value is still in use
    assert grown(shared, 9).ctypes.data != shared.ctypes.data
    filled = lent([1, 2, 3], room=8)
    assert grown(filled, 4, fill=-1)[3:].tolist() == [-1, -1, -1]


def test_columns_of_a_table_may_differ_in_the_room_behind_them() -> None:
    plain = VersionedTable(a=np.int32, b=np.int32)
    plain.put(0, 0, (1, 2))
    parts = plain.frozen()
    lent_parts = {
        name: lent(part.tolist(), room)
        for (name, part), room in zip(parts.items(), (9, 3, 5, 2, 4), strict=True)
    }
    table = VersionedTable.thawed(lent_parts, {"a": np.int32, "b": np.int32})
    for each in (plain, table):
        for version in range(1, 30):
            each.put(version % 7, version, (version, -version))
    assert [part.tolist() for part in table.frozen().values()] == [
        part.tolist() for part in plain.frozen().values()
    ]


def test_room_that_was_taken_back_or_is_gone_is_not_used() -> None:
    array = np.array([1, 2, 3], dtype=np.int32)
    take_room_back([lend_room(array, lambda: array.view(np.uint8))])
    assert claimed_room(array) is None
    lend_room(array, lambda: None)
    assert claimed_room(array) is None
