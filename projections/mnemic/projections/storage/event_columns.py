"""Event columns: rows of integers that are only ever appended, in the order of the log.

A row is found by its first column. The index for that is built on the first look-up, and again
when many rows have been added since; so replay pays only one append per row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mnemic.projections.storage.array_bundle import ArrayBundle
from mnemic.projections.storage.columns import BUFFERED_MAX, FIRST_CAPACITY, grown
from mnemic.projections.storage.mapped_arrays import zeros

_PLACE_BITS = 32


class EventColumns:
    """Append-only rows with fixed columns; the first column is the key of a row."""

    def __init__(self, **columns: type[np.generic]) -> None:
        self._columns: dict[str, NDArray[Any]] = {
            name: np.zeros(FIRST_CAPACITY, dtype) for name, dtype in columns.items()
        }
        self._settled = 0
        self._buffered: list[tuple[int, ...]] = []
        self._sorted = 0
        """Number of rows covered by the sorted index."""
        self._ends: NDArray[np.int64] = np.zeros(1, dtype=np.int64)
        self._by_key: list[NDArray[Any]] = []

    @classmethod
    def thawed(
        cls, parts: Mapping[str, NDArray[Any]], columns: Mapping[str, type[np.generic]]
    ) -> EventColumns:
        """Return the rows that were frozen, given their *columns*."""
        journal = cls()
        journal._columns = {name: parts[name] for name in columns}
        journal._settled = len(next(iter(journal._columns.values())))
        return journal

    def frozen(self) -> ArrayBundle:
        """Return all rows."""
        self._settle()
        return {name: column[: self._settled] for name, column in self._columns.items()}

    def append(self, row: tuple[int, ...]) -> None:
        """Add a row, one value per column."""
        self._buffered.append(row)
        if len(self._buffered) == BUFFERED_MAX:
            self._settle()

    def extend(self, columns: Sequence[NDArray[np.int64]] | NDArray[np.int64]) -> None:
        """Add many rows, given column by column."""
        self._settle()
        first, last = self._settled, self._settled + len(columns[0])
        for name, values in zip(self._columns, columns, strict=True):
            self._columns[name] = grown(self._columns[name], last)
            self._columns[name][first:last] = values
        self._settled = last

    def __len__(self) -> int:
        return self._settled + len(self._buffered)

    def row(self, number: int) -> tuple[int, ...]:
        """Return one row."""
        if number >= self._settled:
            return self._buffered[number - self._settled]
        return tuple([int(column[number]) for column in self._columns.values()])

    def value(self, name: str, number: int) -> int:
        """Return the value of one row in one column."""
        if number >= self._settled:
            self._settle()
        return int(self._columns[name][number])

    def rows(self, count: int) -> list[tuple[int, ...]]:
        """Return the first *count* rows."""
        self._settle()
        columns = self._columns.values()
        return list(zip(*(column[:count].tolist() for column in columns), strict=True))

    def column(self, name: str) -> NDArray[Any]:
        """Return all values of one column."""
        self._settle()
        return self._columns[name][: self._settled]

    def about(self, key: int) -> list[tuple[int, ...]]:
        """Return the rows whose first column is *key*, in order, without that column."""
        self._settle()
        if self._settled - self._sorted > max(self._sorted, BUFFERED_MAX):
            self._sort()
        found: list[tuple[int, ...]] = []
        if key + 1 < len(self._ends):
            first, last = self._ends[key], self._ends[key + 1]
            found = list(
                zip(*(column[first:last].tolist() for column in self._by_key), strict=True)
            )
        if self._sorted < self._settled:
            keys, *values = (
                column[self._sorted : self._settled] for column in self._columns.values()
            )
            late = np.flatnonzero(keys == key)
            found += zip(*(column[late].tolist() for column in values), strict=True)
        return found

    def _sort(self) -> None:
        keys, *values = (column[: self._settled] for column in self._columns.values())
        order, self._ends = grouped(keys)
        self._by_key = [column[order] for column in values]
        self._sorted = self._settled

    def _settle(self) -> None:
        if self._buffered:
            first, last = self._settled, len(self)
            values = zip(*self._buffered, strict=True)
            for name, column in zip(self._columns, values, strict=True):
                self._columns[name] = grown(self._columns[name], last)
                self._columns[name][first:last] = column
            self._settled, self._buffered = last, []


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
    ends = marked.searchsorted(np.arange(int(keys.max(initial=-1)) + 2) << _PLACE_BITS)
    marked &= (1 << _PLACE_BITS) - 1
    return marked, ends
