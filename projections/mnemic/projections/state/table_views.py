"""One table at one version, as views read it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from mnemic.projections.storage.columns import Rows, VersionedTable

Ints = NDArray[np.int64]


class TableView:
    """One table at one version: at the head as it moves, or at rows that were found before."""

    __slots__ = ("_last_query", "_rows", "_table", "get")

    def __init__(self, table: VersionedTable, rows: Rows | None) -> None:
        self._table = table
        self._rows = rows
        self.get: Callable[[str, int], int] = table.value if rows is None else self._get
        """Returns one value of one key, by the names of column and key."""
        self._last_query: tuple[Ints, int, Ints] | None = None
        """The keys requested last, the number of rows of the table then, and the keys' rows: a
        query reads one column after the other of the same blocks."""

    @property
    def count(self) -> int:
        """Number of rows of the table, those of all versions included."""
        return self._table.count

    @property
    def rows(self) -> Rows:
        """The current row of every key, -1 where there is none."""
        return self._table.head if self._rows is None else self._rows

    def keys(self, first: int) -> Rows:
        """Return the keys of the table's rows from row *first* on."""
        return self._table.keys(first)

    def _get(self, name: str, key: int) -> int:
        assert self._rows is not None  # noqa: S101 - the head is read directly
        return int(self._table.column(name)[self._rows[key]])

    def column(self, name: str, keys: Ints) -> Ints:
        """Return one value for each of *keys*, an array that is not written to afterwards."""
        return self._table.column(name).take(self._rows_of(keys)).astype(np.int64, copy=False)

    def _rows_of(self, keys: Ints) -> Ints:
        count, asked = self._table.count, self._last_query
        if asked is not None and asked[0] is keys and asked[1] == count:
            return asked[2]
        rows = self.rows[keys].astype(np.intp, copy=False)
        self._last_query = (keys, count, rows)
        return rows

    def has(self, key: int) -> bool:
        """Whether *key* has a row at this version."""
        if self._rows is None:
            return self._table.row(key) >= 0
        return key < len(self._rows) and bool(self._rows[key] >= 0)
