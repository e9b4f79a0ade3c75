"""Versioned tables: append-only row versions of keyed facts, stored by column.

Rules of this module:

1. A change closes the current row and appends another; no value is ever overwritten. So the
   state at version v is the rows with ``since <= v < until``, found by a mask, without a replay.
2. Keys are small integers assigned in order, so "the row of a key" is one array.
3. Growing copies into a larger array and leaves the old one unchanged: readers that still hold it
   keep reading correct values. ``until`` is the only cell written after its row; it
   changes from "never" to a version later than any view that can hold the array. So it is the
   only column that is copied where a table is frozen or thawed.
4. The events of a command write number by number, through memoryviews of the arrays, which take
   half the time of numpy's indexing. A long replay writes the rows of a batch column by column.
5. One thread writes. Others read meanwhile, at versions that were published, and change nothing:
   what they read was written before, and later rows lie behind it. ``row``, ``value``, ``values``
   and ``head`` are about the moving head: a reader may use the row only if it began by its version.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mnemic.projections.storage.array_bundle import (
    ArrayBundle,
    nested,
    numbered,
    within,
)
from mnemic.projections.storage.endings import NEVER, Endings
from mnemic.projections.storage.grouped_writes import GroupedWrites
from mnemic.projections.storage.growable_array import FIRST_CAPACITY, grown

Rows = NDArray[np.int32]
NOTHING_MORE: Mapping[str, int] = MappingProxyType({})


Trail: TypeAlias = list[tuple[int, Any]]
"""Versions, ascending, and the value valid from each on; None for no value."""


def step(trail: Trail, version: int, value: Any) -> None:
    """Append *value*, valid from *version* on, to a trail; an unchanged value adds no step."""
    if trail and trail[-1][0] == version:
        trail.pop()
    before = trail[-1][1] if trail else None
    if value != before:
        trail.append((version, value))


class VersionedTable:
    """Row versions of one kind of fact, keyed by whole numbers from 0."""

    def __init__(self, **columns: type[np.generic]) -> None:
        self._columns = {name: np.zeros(FIRST_CAPACITY, dtype) for name, dtype in columns.items()}
        self.names = tuple(columns)
        """Names of the columns, in order."""
        self._place = {name: place for place, name in enumerate(columns)}
        self._key: Rows = np.zeros(FIRST_CAPACITY, dtype=np.int32)
        self._since: Rows = np.zeros(FIRST_CAPACITY, dtype=np.int32)
        self._until: Rows = np.full(FIRST_CAPACITY, NEVER, dtype=np.int32)
        self._head: Rows = np.full(FIRST_CAPACITY, -1, dtype=np.int32)
        """The current row of every key, -1 where there is none, and behind the last key."""
        self._keys = 0
        """Number of keys that have, or had, a row."""
        self._settled = 0
        self._changed = -1
        """The last version at which a row was written or closed."""
        self._endings = Endings()
        self._view_cells()

    def frozen(self) -> ArrayBundle:
        """Return all row versions."""
        rows = slice(self._settled)
        return {
            "key": self._key[rows],
            "since": self._since[rows],
            "until": self._until[rows].copy(),
            **nested(columns={name: column[rows] for name, column in self._columns.items()}),
        }

    @classmethod
    def thawed(
        cls, parts: Mapping[str, NDArray[Any]], columns: Mapping[str, type[np.generic]]
    ) -> VersionedTable:
        """Return the table that was frozen, given its *columns*."""
        table, values = cls(**columns), within(parts, "columns")
        table._columns = {name: values[name] for name in columns}
        table._key, table._since = parts["key"], parts["since"]
        table._until = parts["until"].copy()
        table._settled = len(table._key)
        current = np.flatnonzero(table._until == NEVER)
        table._keys = int(table._key.max(initial=-1)) + 1
        table._head = np.full(table._keys, -1, dtype=np.int32)
        table._head[table._key[current]] = current
        table._view_cells()
        closed = table._until[table._until != NEVER]
        table._endings = Endings(int(closed.max(initial=-1)))
        table._changed = max(int(closed.max(initial=-1)), int(table._since.max(initial=-1)))
        return table

    def replaced(self, name: str, values: NDArray[Any]) -> VersionedTable:
        """Return a table with other *values* in one column, which continues this one.

        Args:
            name: The column.
            values: One per row version.
        """
        other, column = copy(self), np.zeros_like(self._columns[name])  # all have one capacity
        column[: self._settled] = values
        columns = {**self._columns, name: column}
        vars(other).update(_columns=columns, _head=self._head.copy())
        other._view_cells()  # noqa: SLF001 - the copy is of this class
        return other

    def _view_cells(self) -> None:
        """View the arrays through memoryviews, after one of them was replaced."""
        arrays = self._key, self._since, self._until, *self._columns.values()
        self._capacity = min(map(len, arrays))
        """Number of rows that each array holds at least."""
        self._key_cells, self._since_cells, self._until_cells, *cells = [
            each.data for each in arrays
        ]
        self._cells = tuple(cells)
        """The columns, in order."""
        self._head_cells = self._head.data

    # --- writing, row by row ----------------------------------------------------------------

    def row(self, key: int) -> int:
        """Return the current row of *key*, or -1."""
        return self._head_cells[key] if key < self._keys else -1

    def put(self, key: int, version: int, values: Sequence[int]) -> None:
        """Make *values*, one per column, the current row of *key* from *version* on.

        Raises:
            OverflowError: A value does not fit its column.
        """
        if key >= self._keys:
            self._add_keys(key + 1)
        row, current = self._settled, self._head_cells[key]
        if row == self._capacity:
            self._grow(row + 1)
        try:
            self._key_cells[row], self._since_cells[row] = key, version
            for cell, value in zip(self._cells, values, strict=True):
                cell[row] = value
        except ValueError as error:
            raise OverflowError(f"a column cannot hold its value of {values}") from error
        if current >= 0:
            self._close(current, version)
        self._head_cells[key] = row
        self._settled = row + 1  # at last, so that no reader sees a row that is not complete
        self._changed = version

    def _add_keys(self, keys: int) -> None:
        """Let the table have *keys* keys."""
        if keys > len(self._head):
            self._head = grown(self._head, keys, fill=-1)
            self._head_cells = self._head.data
        self._keys = keys

    def _close(self, row: int, version: int) -> None:
        self._until_cells[row] = version
        self._changed = version
        self._endings = self._endings.append(row, version)

    def change(
        self, key: int, version: int, more: Mapping[str, int] = NOTHING_MORE, /, **values: int
    ) -> None:
        """Append a copy of the current row of *key* with some values replaced or added to.

        Args:
            key: A key with a current row.
            version: From when on.
            more: Amounts to add, by column.
            values: New values, by column.
        """
        kept = list(self.values(key))
        for name, value in values.items():
            kept[self._place[name]] = value
        for name, value in more.items():
            kept[self._place[name]] += value
        self.put(key, version, kept)

    def add(self, key: int, version: int, more: tuple[int, ...]) -> None:
        """Append a copy of the current row of *key* with *more* added to its values."""
        self.put(key, version, tuple(map(sum, zip(self.values(key), more, strict=True))))

    def close(self, key: int, version: int) -> None:
        """Close the current row of *key*, if any, from *version* on."""
        current = self.row(key)
        if current >= 0:
            self._close(current, version)
            self._head_cells[key] = -1

    def values(self, key: int) -> tuple[int, ...]:
        """Return the current values of *key*."""
        return self.row_values(self._head_cells[key])

    def value(self, name: str, key: int) -> int:
        """Return the current value of *key* in one column."""
        return self.cell(name, self._head_cells[key])

    # --- writing, many rows at once ---------------------------------------------------------

    def extend(
        self,
        runs: GroupedWrites,
        since: NDArray[np.int64],
        values: Iterable[NDArray[np.int64]],
        *,
        puts_row: NDArray[np.bool_] | None = None,
    ) -> None:
        """Do what ``put`` and ``close`` do, for all writes of a batch.

        Args:
            runs: The writes, grouped by key.
            since: The version of each write, ascending.
            values: An array of values for each column of the table; ignored for closing writes.
            puts_row: Which writes put a row; None: all. The others close the current row.
        """
        first, ends = self._settled, runs.following(since, NEVER)
        puts = slice(None) if puts_row is None else np.flatnonzero(puts_row)
        last = first + len(since[puts])
        rows = np.full(len(runs), -1, dtype=np.int64)
        rows[puts] = np.arange(first, last)
        before = self.rows_of(runs.keys)
        current = before >= 0
        self._until[before[current]] = since[runs.firsts[current]]
        columns = (runs.written, since, ends, *values)
        self._append(first, last, [column[puts] for column in columns])
        self._add_keys(max(self._keys, int(runs.keys[-1]) + 1))
        self._head[runs.keys] = rows[runs.lasts]
        self._changed = int(since[-1])
        self._endings = Endings(self._changed)

    def _append(self, first: int, last: int, columns: Iterable[ArrayLike]) -> None:
        """Append the rows from *first* up to but not including *last*.

        Args:
            first: Number of rows so far.
            last: Number of rows afterwards.
            columns: Keys, versions from and until, and the values; or one number for all rows.
        """
        if first == last:
            return  # thawed columns may be read-only, so even an empty write is avoided
        self._grow(last)
        tables = (self._key, self._since, self._until, *self._columns.values())
        for table, given in zip(tables, columns, strict=True):
            table[first:last] = given
            # numpy truncates values of an array that do not fit; from other sequences it raises.
            if isinstance(given, np.ndarray) and not np.array_equal(table[first:last], given):
                raise OverflowError(f"a column of {table.dtype} cannot hold {given.max()}")
        self._settled = last  # at last, so that no reader sees a row that is not complete

    def make_room(self) -> None:
        """Make room for a row, so that the next one is written at once."""
        if self._settled == self._capacity:
            self._grow(self._settled + 1)

    def _grow(self, length: int) -> None:
        """Make each array hold *length* rows; those of a checkpoint differ in their room."""
        self._key, self._since = grown(self._key, length), grown(self._since, length)
        self._until = grown(self._until, length, fill=NEVER)
        for name, column in self._columns.items():
            self._columns[name] = grown(column, length)
        self._view_cells()

    def rows_of(self, keys: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the current row of each of *keys*, -1 where there is none."""
        head = self.head
        known = keys < len(head)
        rows = np.full(len(keys), -1, dtype=np.int64)
        rows[known] = head[keys[known]]
        return rows

    def values_of(self, name: str, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the values of some rows in one column, 0 where a row is -1."""
        found = np.zeros(len(rows), dtype=np.int64)
        some = np.flatnonzero(rows >= 0)
        found[some] = self.column(name)[rows[some]]
        return found

    # --- reading, value by value ------------------------------------------------------------

    def cell(self, name: str, row: int) -> int:
        """Return one value of a row version, whether closed or not."""
        value: int = self._cells[self._place[name]][row]
        return value

    def began(self, row: int) -> int:
        """Return the version at which a row version was written."""
        version: int = self._since_cells[row]
        return version

    # --- reading, column by column ----------------------------------------------------------

    @property
    def count(self) -> int:
        """Number of row versions."""
        return self._settled

    @property
    def head(self) -> Rows:
        """The current row of every key, -1 where there is none. It is updated by every change."""
        return self._head[: self._keys]

    def column(self, name: str) -> NDArray[Any]:
        """Return all row versions of one column, to be indexed by rows."""
        return self._columns[name]

    def keys(self, first: int, last: int | None = None) -> Rows:
        """Return the keys of the rows from row *first* up to but not including *last*."""
        return self._key[first : self._settled if last is None else last]

    def count_at(self, version: int) -> int:
        """Return the number of rows that began by *version*."""
        count, since = self._settled, self._since
        if not count or since[count - 1] <= version:
            return count
        return int(since[:count].searchsorted(np.int32(version), side="right"))

    def since(self, first: int) -> Rows:
        """Return the versions at which the rows from row *first* on were written."""
        return self._since[first : self._settled]

    def rows_at(self, version: int, keys: int) -> Rows:
        """Return the row of each of the first *keys* keys at *version*, -1 where there was none.

        Equals ``head`` of a table that was replayed up to *version* and no further.
        """
        rows = np.nonzero(self._until[: self.count_at(version)] > version)[0]
        current = np.full(keys, -1, dtype=np.int32)
        current[self._key[rows]] = rows
        return current

    def moved(self, current: Rows, before: int, version: int, keys: int) -> Rows:
        """Return ``rows_at(version, keys)``, derived from the rows of another version.

        Args:
            current: Result of ``rows_at`` or ``moved`` for *before*, of any number of keys; not
                modified.
            before: An earlier or a later version.
            version: As for ``rows_at``.
            keys: As for ``rows_at``.
        Returns:
            *current* itself, if nothing has changed in between.
        """
        if min(before, version) >= self._changed and len(current) >= keys:
            return current
        if before > version:
            return self._moved_back(current, before, version, keys)
        first, last = self.count_at(before), self.count_at(version)
        gone = self._endings.between(self._until[: self._settled], before, version)
        fresh = first + np.flatnonzero(self._until[first:last] > version)
        if len(current) >= keys and not len(gone) and not len(fresh):
            return current
        current = current[:keys]  # the others had no row yet
        moved = np.empty(keys, dtype=np.int32)
        moved[: len(current)] = current
        moved[len(current) :] = -1
        moved[self._key[gone]] = -1
        moved[self._key[fresh]] = fresh
        return moved

    def _moved_back(self, current: Rows, before: int, version: int, keys: int) -> Rows:
        first, last = self.count_at(version), self.count_at(before)
        ended = self._endings.between(self._until[: self._settled], version, before)
        if len(current) >= keys and first == last and not len(ended):
            return current
        moved = np.full(max(keys, len(current)), -1, dtype=np.int32)
        moved[: len(current)] = current
        begun = self._key[first:last]
        moved[begun[begun < len(moved)]] = -1
        restored = ended[ended < first]
        moved[self._key[restored]] = restored
        return moved[:keys]

    def changed(self, first: int, last: int) -> list[int]:
        """Return the keys with a row opened or closed from version *first* to *last*, ascending."""
        since, until, key = self._all()
        rows = ((first <= since) & (since <= last)) | ((first <= until) & (until <= last))
        keys: list[int] = np.unique(key[rows]).tolist()
        return keys

    def changed_at(self, versions: Collection[int]) -> list[int]:
        """Return the keys with a row opened or closed at one of some versions, ascending."""
        wanted = np.array(sorted(versions), dtype=np.int64)
        since, until, key = self._all()
        rows = np.isin(since, wanted) | np.isin(until, wanted)
        keys: list[int] = np.unique(key[rows]).tolist()
        return keys

    def trails(
        self, keys: Iterable[int], version: int, seen: Callable[[tuple[int, ...]], Any]
    ) -> dict[int, Trail]:
        """Return, by key, the history of values up to *version*.

        Args:
            keys: The keys to include.
            version: Later changes are ignored.
            seen: Maps the values of a row to the part of interest; a step that leaves it unchanged
                is left out.
        """
        found: dict[int, Trail] = {key: [] for key in keys}
        if not found:
            return found
        rows = np.flatnonzero(np.isin(self._key[: self.count_at(version)], list(found)))
        for row in rows.tolist():
            since, until = int(self._since[row]), int(self._until[row])
            if since == until:
                continue  # replaced within the same version, so never visible
            trail = found[int(self._key[row])]
            step(trail, since, seen(self.row_values(row)))
            if until <= version:
                step(trail, until, None)
        return found

    def place(self, name: str) -> int:
        """Return the position of a column among the values of a row."""
        return self._place[name]

    def row_values(self, row: int) -> tuple[int, ...]:
        """Return the values of a row version, whether closed or not."""
        return tuple([cell[row] for cell in self._cells])

    def touched(self, key: int) -> NDArray[np.int32]:
        """Return the versions at which *key* changed, in order, closings included."""
        since, until, keys = self._all()
        rows = np.flatnonzero(keys == key)
        moments = np.concatenate([since[rows], until[rows]])
        return np.unique(moments[moments != NEVER])

    def _all(self) -> tuple[Rows, Rows, Rows]:
        """Return the versions from and until which each row was current, and its key."""
        count = self._settled
        return self._since[:count], self._until[:count], self._key[:count]


class Interner(dict[str, int]):
    """Numbers for words, in the order of their first use; looking up a new word numbers it."""

    def __init__(self, *first: str) -> None:
        super().__init__()
        self.words: list[str] = []
        for word in first:
            self.number(word)

    @classmethod
    def thawed(cls, words: Iterable[str]) -> Interner:
        """Return an interner that numbers *words*, which are distinct, in order."""
        names = cls()
        names.words = list(words)
        names.update(numbered(names.words))
        return names

    def __missing__(self, word: str) -> int:
        number = self[word] = len(self.words)
        self.words.append(word)
        return number

    def number(self, word: str) -> int:
        """Return the number of *word*, assigning the next one at its first use."""
        return self[word]

    def known(self, word: str) -> int:
        """Return the number of *word*, or -1."""
        return self.get(word, -1)

    def __iter__(self) -> Iterator[str]:
        return iter(self.words)  # may be extended meanwhile
