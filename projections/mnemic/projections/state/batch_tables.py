"""Table writes of a batch, buffered until its end.

Rules of this module:

1. A write gives some values of a row and leaves others open: carried over from the row before,
   or that plus an amount. Open values are filled in for all rows of the batch together.
2. So a batch reads nothing back from a table except the columns it declared as ``seen``.
3. The resulting rows, their order and their versions are those of ``VersionedTable.put`` and
   ``VersionedTable.change``, called one by one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from mnemic.projections.storage.columns import NOTHING_MORE, VersionedTable
from mnemic.projections.storage.grouped_writes import Gaps, GroupedWrites

CARRIED: Final = int(np.iinfo(np.int64).min) + 1
"""Placeholder for a value carried over from the row before; no column can hold it."""
_ENVELOPE: Final = 2
"""Numbers before the values of a row: key and version."""


class Flat(list[int]):
    """Rows of integers, one number after the other.

    Args:
        width: Numbers in a row.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self._width = width
        self._buffered: list[NDArray[np.int64]] = []
        self._rows = 0

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self._rows + len(self) // self._width

    def gather(self) -> None:
        """Move the numbers into an array while they are in the processor's caches."""
        self._rows = self.rows
        self._buffered.append(np.fromiter(self, np.int64, len(self)))
        self.clear()

    def columns(self) -> NDArray[np.int64]:
        """Return everything as columns, shape (width, rows)."""
        self.gather()
        rows = np.concatenate(self._buffered).reshape(-1, self._width)
        return np.ascontiguousarray(rows.T)


class Writes:
    """The writes of a batch to one table; used by handlers in place of the table.

    Args:
        table: The table that the rows are finally written to.
        counted: Columns that only accumulate. The written values are increments, and
            a new key begins at 0.
        seen: Columns that are read during the batch.
    """

    def __init__(
        self, table: VersionedTable, *, counted: tuple[str, ...] = (), seen: tuple[str, ...] = ()
    ) -> None:
        self._table = table
        self._counted = {table.place(name) for name in counted}
        self._blank = [0 if at in self._counted else CARRIED for at in range(len(table.names))]
        self.seen: dict[str, dict[int, int]] = {name: {} for name in seen}
        """By column, the values written by the batch, by key."""
        self._seen_at = [(table.place(name), self.seen[name]) for name in seen]
        self.flat = Flat(_ENVELOPE + len(self._blank))
        """Row after row: key, version, and a value per column or ``CARRIED``."""

    def put(self, key: int, version: int, values: tuple[int, ...]) -> None:
        """Make *values*, one per column, the current row of *key* from *version* on.

        Args:
            key: One without a row yet, if columns are counted.
            version: At least that of the write before.
            values: 0 in each counted column.
        """
        self.flat += (key, version, *values)
        for place, seen in self._seen_at:
            seen[key] = values[place]

    def change(
        self, key: int, version: int, more: Mapping[str, int] = NOTHING_MORE, /, **values: int
    ) -> None:
        """Append a copy of the current row of *key* with some values replaced or added to."""
        row, place = self._blank.copy(), self._table.place
        for name, value in (*values.items(), *more.items()):
            row[place(name)] = value
        self.flat += (key, version, *row)
        for name, seen in self.seen.items():
            if name in values:
                seen[key] = values[name]

    def add(self, key: int, version: int, more: tuple[int, ...]) -> None:
        """Append a copy of the current row of *key* with *more* added to its values.

        Args:
            key: Key of a table whose columns are all counted.
            version: At least that of the write before.
            more: One value per column.
        """
        self.flat += (key, version, *more)

    def value(self, name: str, key: int) -> int:
        """Return the current value of *key* in a column that is declared as seen."""
        value = self.seen[name].get(key)
        return self._table.value(name, key) if value is None else value

    def settle(self) -> None:
        """Write everything to the table, once."""
        if not self.flat.rows:
            return
        keys, since, *values = self.flat.columns()
        runs = GroupedWrites(keys)
        before = self._table.rows_of(runs.keys)
        filled: list[NDArray[np.int64]] = []
        sources: dict[bytes, Gaps | None] = {}
        for place, (name, column) in enumerate(zip(self._table.names, values, strict=True)):
            base = self._table.values_of(name, before)
            if place in self._counted:
                filled.append(runs.summed(column) + base[runs.run])
            else:
                given = column != CARRIED
                pattern = given.tobytes()  # most columns have their gaps in the same rows
                if pattern not in sources:
                    sources[pattern] = runs.gaps(given)
                filled.append(runs.carried(column, sources[pattern], base))
        self._table.extend(runs, since, filled)
