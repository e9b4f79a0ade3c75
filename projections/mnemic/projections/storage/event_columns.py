"""Event columns: rows of integers that are only ever appended, in the order of the log.

A row is found by its first column. The index for that is built on the first look-up, and again
when many rows have been added since; so replay pays only one append per row.

One thread appends. Others see a row once it is complete.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from mnemic.projections.storage.array_bundle import ArrayBundle
from mnemic.projections.storage.growable_array import FIRST_CAPACITY, grown
from mnemic.projections.storage.mapped_arrays import zeros

_PLACE_BITS = 32
UNSORTED_MAX = 4096
"""Number of rows that are searched one by one, at least, before all are sorted again."""
_NO_ENDS: Final[NDArray[np.int64]] = np.zeros(1, dtype=np.int64)


class EventColumns:
    """Append-only rows with fixed columns; the first column is the key of a row."""

    def __init__(self, **columns: type[np.generic]) -> None:
        self._columns: dict[str, NDArray[Any]] = {
            name: np.zeros(FIRST_CAPACITY, dtype) for name, dtype in columns.items()
        }
        self._settled = 0
        self._view_cells()
        self._index: tuple[int, NDArray[np.int64], list[NDArray[Any]]] = (0, _NO_ENDS, [])
        """Cache: number of rows that are sorted by key, where the rows of each key end among them,
        and the other columns in that order."""

    @classmethod
    def thawed(
        cls, parts: Mapping[str, NDArray[Any]], columns: Mapping[str, type[np.generic]]
    ) -> EventColumns:
        """Return the rows that were frozen, given their *columns*."""
        journal = cls(**columns)
        journal._columns = {name: parts[name] for name in columns}
        journal._settled = len(next(iter(journal._columns.values())))
        journal._view_cells()
        return journal

    def _view_cells(self) -> None:
        """View the arrays through memoryviews, whose numbers are written and read in less time."""
        columns = self._columns.values()
        self._capacity = min(map(len, columns))
        self._cells = tuple([column.data for column in columns])

    def frozen(self) -> ArrayBundle:
        """Return all rows."""
        return {name: column[: self._settled] for name, column in self._columns.items()}

    def append(self, row: tuple[int, ...]) -> None:
        """Add a row, one value per column.

        Raises:
            OverflowError: A value does not fit its column.
        """
        number = self._settled
        if number == self._capacity:
            self._grow(number + 1)
        try:
            for cell, value in zip(self._cells, row, strict=True):
                cell[number] = value
        except ValueError as error:
            raise OverflowError(f"a column cannot hold its value of {row}") from error
        self._settled = number + 1  # at last, so that no reader sees a row that is not complete

    def append_each(self, rows: Sequence[tuple[int, ...]]) -> None:
        """Do ``append`` for several rows."""
        if rows:
            self.extend(list(zip(*rows, strict=True)))

    def extend(self, columns: Sequence[Sequence[int] | NDArray[Any]] | NDArray[np.int64]) -> None:
        """Add many rows, given column by column."""
        first, last = self._settled, self._settled + len(columns[0])
        if last > self._capacity:
            self._grow(last)
        for column, values in zip(self._columns.values(), columns, strict=True):
            column[first:last] = values
        self._settled = last

    def __len__(self) -> int:
        return self._settled

    def row(self, number: int) -> tuple[int, ...]:
        """Return one row."""
        return tuple([cell[number] for cell in self._cells])

    def value(self, name: str, number: int) -> int:
        """Return the value of one row in one column."""
        return int(self._columns[name][number])

    def rows(self, count: int) -> list[tuple[int, ...]]:
        """Return the first *count* rows."""
        columns = self._columns.values()
        return list(zip(*(column[:count].tolist() for column in columns), strict=True))

    def column(self, name: str) -> NDArray[Any]:
        """Return all values of one column."""
        count = self._settled  # before the array: a larger one has all of the smaller one
        return self._columns[name][:count]

    def about(self, key: int) -> list[tuple[int, ...]]:
        """Return the rows whose first column is *key*, in order, without that column."""
        count, (is_sorted, ends, by_key) = self._settled, self._index
        if count - is_sorted > max(is_sorted, UNSORTED_MAX):
            keys, *values = (column[:count] for column in self._columns.values())
            order, ends = grouped(keys)
            by_key, is_sorted = [column[order] for column in values], count
            self._index = is_sorted, ends, by_key
        found: list[tuple[int, ...]] = []
        if 0 <= key < len(ends) - 1:
            among = slice(ends[key], ends[key + 1])
            found = list(zip(*(column[among].tolist() for column in by_key), strict=True))
        if is_sorted < count:
            keys, *values = (column[is_sorted:count] for column in self._columns.values())
            late = np.flatnonzero(keys == key)
            found += zip(*(column[late].tolist() for column in values), strict=True)
        return found

    def make_room(self) -> None:
        """Make room for a row, so that the next one is written at once."""
        if self._settled == self._capacity:
            self._grow(self._settled + 1)

    def _grow(self, length: int) -> None:
        """Make each array hold *length* rows; those of a checkpoint differ in their room."""
        for name, column in self._columns.items():
            self._columns[name] = grown(column, length)
        self._view_cells()


def grouped(keys: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the positions of each key from 0 on, grouped by key, and where each group ends.

    Args:
        keys: Integers, shape (n,). Range: [0, 2**31).
    Returns:
        Positions, shape (n,), those of one key ascending; and ends, shape (keys + 1,): the
        positions of key k are those from ``ends[k]`` to ``ends[k + 1]``.
    """
    # A key and its position are combined into one number, because sorting numbers is faster than
    # argsort. It is done in one mapped array, which is returned to the system: there may be a
    # million values.
    marked = zeros((len(keys),), np.int64)
    marked += keys
    marked <<= _PLACE_BITS
    marked |= np.arange(len(keys), dtype=np.int32)
    marked.sort()
    marked &= (1 << _PLACE_BITS) - 1
    sizes = np.bincount(keys)
    ends = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, out=ends[1:])
    return marked, ends
