"""One table at one version, as views read it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mnemic.projections.storage.columns import Rows, VersionedTable

Ints = NDArray[np.int64]


class TableView:
    """One table at one version: at the head as it moves, or at a version that stays as it is.

    The rows of a version are found when they are first needed, from those of another version if
    there is one. They are never written to afterwards.

    Args:
        table: The table.
        version: The version; None: the head, for the writer alone.
        keys: Number of keys at that version.
        other: The same table at another version.
    """

    __slots__ = (
        "_base",
        "_keys",
        "_last_query",
        "_rows",
        "_table",
        "_version",
        "count",
    )

    def __init__(
        self,
        table: VersionedTable,
        version: int | None,
        keys: int = 0,
        other: TableView | None = None,
    ) -> None:
        self._table = table
        self._version = version
        self._keys = keys
        self._rows: Rows | None = None
        self._base: tuple[Rows, int] | None = None if other is None else other.base
        """The rows of another version, and that version."""
        self.count = table.count if version is None else table.count_at(version)
        """Number of rows of the table that began by this version; at the head, when it was made."""
        self._last_query: tuple[Ints, int, Ints] | None = None
        """The keys requested last, the number of rows of the table then, and the keys' rows: a
        query reads one column after the other of the same blocks."""

    @property
    def base(self) -> tuple[Rows, int] | None:
        """The rows of this version, or of another one while they are not known; its version."""
        base, rows = self._base, self._rows  # in this order: once the rows are known, both may be
        return base if rows is None or self._version is None else (rows, self._version)

    def row(self, key: int) -> int:
        """Return the row of *key*, or -1.

        The rows of all keys are not needed if that row is still current at the head.
        """
        table, version, rows = self._table, self._version, self._rows
        if rows is None:
            row = table.row(key)
            if version is None or (row >= 0 and table.began(row) <= version):
                return row
            rows = self.rows
        return int(rows[key]) if key < len(rows) else -1

    @property
    def rows(self) -> Rows:
        """The current row of every key, -1 where there is none."""
        rows = self._rows
        if rows is None:
            if self._version is None:
                return self._table.head
            rows = self._rows = self._found(self._version)
            self._base = None
        return rows

    def _found(self, version: int) -> Rows:
        base = self._base
        rows = self._rows
        if rows is not None:
            return rows
        if base is None:
            return self._table.rows_at(version, self._keys)
        return self._table.moved(*base, version, self._keys)

    def keys_since(self, count: int) -> Rows:
        """Return the keys of the rows by which this version differs from one with *count* rows."""
        return self._table.keys(*sorted((count, self.count)))

    def get(self, name: str, key: int) -> int:
        """Return one value of a key that has a row."""
        return self._table.cell(name, self.row(key))

    def values(self, key: int) -> tuple[int, ...]:
        """Return the values of a key that has a row, in the order of the columns."""
        return self._table.row_values(self.row(key))

    def column(self, name: str, keys: Ints) -> Ints:
        """Return one value for each of *keys*, an array that is not written to afterwards."""
        rows = self._rows_of(keys)
        return self._table.column(name).take(rows).astype(np.int64, copy=False)

    def _rows_of(self, keys: Ints) -> Ints:
        count = self.count if self._version is not None else self._table.count
        asked = self._last_query
        if asked is not None and asked[0] is keys and asked[1] == count:
            return asked[2]
        rows = self.rows[keys].astype(np.intp, copy=False)
        self._last_query = (keys, count, rows)
        return rows

    def has(self, key: int) -> bool:
        """Whether *key* has a row at this version."""
        return self.row(key) >= 0
