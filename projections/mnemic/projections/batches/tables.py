"""Writes to a table that wait for the end of a batch.

Rules of this module:

1. A write says what is new in a row and leaves the rest open: carried from the row before, or that
   and so many more. What is open is filled in for all rows of the batch together.
2. So a batch reads nothing back from a table but the few columns that it asked to see.
3. The rows that come of it, their order and their versions are those of ``Versions.put`` and
   ``Versions.change``, called one by one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from mnemic.projections.columns import NOTHING_MORE, Versions
from mnemic.projections.runs import Runs

CARRIED: Final = int(np.iinfo(np.int64).min) + 1
"""Stands where a value is that of the row before; no column holds it."""
_ENVELOPE: Final = 2
"""Numbers before the values of a row: key and version."""


class Flat(list[int]):
    """Rows of whole numbers, one number after the other.

    Args:
        width: Numbers in a row.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self._width = width
        self._gathered: list[NDArray[np.int64]] = []
        self._rows = 0

    @property
    def rows(self) -> int:
        """How many there are."""
        return self._rows + len(self) // self._width

    def gather(self) -> None:
        """Move the numbers into an array, as long as they are in the processor's caches."""
        self._rows = self.rows
        self._gathered.append(np.fromiter(self, np.int64, len(self)))
        self.clear()

    def columns(self) -> NDArray[np.int64]:
        """Return everything as columns, shape (width, rows)."""
        self.gather()
        rows = np.concatenate(self._gathered).reshape(-1, self._width)
        return np.ascontiguousarray(rows.T)


class Writes:
    """What a batch writes to one table; it is written to in place of the table.

    Args:
        table: Where the rows go in the end.
        counted: Columns that only ever count on. What is written there is what comes on top, and
            a new key begins at 0.
        seen: Columns that are read while the batch goes on.
    """

    def __init__(
        self, table: Versions, *, counted: tuple[str, ...] = (), seen: tuple[str, ...] = ()
    ) -> None:
        self._table = table
        self._counted = {table.place(name) for name in counted}
        self._blank = [0 if at in self._counted else CARRIED for at in range(len(table.names))]
        self.seen: dict[str, dict[int, int]] = {name: {} for name in seen}
        """By column, what the batch has written there by key."""
        self._seen_at = [(table.place(name), self.seen[name]) for name in seen]
        self.flat = Flat(_ENVELOPE + len(self._blank))
        """Row after row: key, version, and a value per column or ``CARRIED``."""

    def put(self, key: int, version: int, values: tuple[int, ...]) -> None:
        """Let *values*, one per column, stand for *key* from *version* on.

        Args:
            key: One without a row yet, where columns are counted.
            version: At least that of the write before.
            values: 0 in each counted column.
        """
        self.flat += (key, version, *values)
        for place, seen in self._seen_at:
            seen[key] = values[place]

    def change(
        self, key: int, version: int, more: Mapping[str, int] = NOTHING_MORE, /, **values: int
    ) -> None:
        """Let the row of *key* stand on with some of its values replaced, or added to."""
        row, place = self._blank.copy(), self._table.place
        for name, value in (*values.items(), *more.items()):
            row[place(name)] = value
        self.flat += (key, version, *row)
        for name, seen in self.seen.items():
            if name in values:
                seen[key] = values[name]

    def add(self, key: int, version: int, more: tuple[int, ...]) -> None:
        """Let the row of *key* stand on with something added to each of its values.

        Args:
            key: Of a table whose columns are all counted.
            version: At least that of the write before.
            more: One value per column.
        """
        self.flat += (key, version, *more)

    def value(self, key: int, name: str) -> int:
        """Return what stands for *key* in a column that is seen."""
        value = self.seen[name].get(key)
        return self._table.value(key, name) if value is None else value

    def settle(self) -> None:
        """Write everything to the table, once."""
        if not self.flat.rows:
            return
        keys, since, *values = self.flat.columns()
        runs = Runs(keys)
        before = self._table.rows_of(runs.keys)
        filled: list[NDArray[np.int64]] = []
        for place, (name, column) in enumerate(zip(self._table.names, values, strict=True)):
            base = self._table.values_of(name, before)
            if place in self._counted:
                filled.append(runs.summed(column) + base[runs.run])
            else:
                filled.append(runs.carried(column, runs.gaps(column != CARRIED), base))
        self._table.extend(runs, since, filled)
