"""Columns that remember: append-only row versions of keyed facts.

Rules of this module:

1. A change closes the row that stands and appends another; no value is ever overwritten. So the
   state at version v is the rows with ``since <= v < until``, found by a mask, without a refold.
2. Keys are small whole numbers handed out in order, so "the row of a key" is one array.
3. Growing copies into a larger array and leaves the old one as it was: whoever still holds it
   keeps reading a truth that has not moved. ``until`` is the only cell written after its row; it
   changes from "never" to a version later than any view that can hold the array.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

NEVER = np.iinfo(np.int32).max
"""``until`` of a row that still stands."""

Rows = NDArray[np.int32]
V = TypeVar("V")
FIRST_CAPACITY = 64


class Series:
    """One growable array."""

    def __init__(self, dtype: type[np.generic], *, fill: int = 0) -> None:
        self.data: NDArray[Any] = np.full(FIRST_CAPACITY, fill, dtype=dtype)
        self.length = 0
        self._fill = fill

    def append(self, value: int) -> None:
        if self.length == len(self.data):
            self.grow(self.length + 1)
        self.data[self.length] = value
        self.length += 1

    def grow(self, length: int) -> None:
        """Make room for *length* values; those not yet appended read as the fill value."""
        if length <= len(self.data):
            return
        larger = np.full(max(length, 2 * len(self.data)), self._fill, dtype=self.data.dtype)
        larger[: len(self.data)] = self.data
        self.data = larger

    @property
    def values(self) -> NDArray[Any]:
        """What has been appended; the array is shared, do not write to it."""
        return self.data[: self.length]


class Versions:
    """Row versions of one kind of fact, keyed by whole numbers from 0."""

    def __init__(self, **columns: type[np.generic]) -> None:
        self._key = Series(np.int32)
        self._since = Series(np.int32)
        self._until = Series(np.int32, fill=NEVER)
        self._head = Series(np.int32, fill=-1)
        self._columns = tuple(Series(dtype) for dtype in columns.values())
        self._place = {name: place for place, name in enumerate(columns)}

    @property
    def head(self) -> Rows:
        """The standing row of every key, -1 where there is none. It moves with every change."""
        return self._head.data

    def column(self, name: str) -> NDArray[Any]:
        """Return all row versions of one column, to be indexed by rows."""
        return self._columns[self._place[name]].data

    def put(self, key: int, version: int, values: tuple[int, ...]) -> None:
        """Let *values*, one per column, stand for *key* from *version* on."""
        row = self._key.length
        if key >= len(self._head.data):
            self._head.grow(key + 1)
        standing = self._head.data[key]
        if standing >= 0:
            self._until.data[standing] = version
        self._head.data[key] = row
        self._key.append(key)
        self._since.append(version)
        self._until.append(NEVER)
        for column, value in zip(self._columns, values, strict=True):
            column.append(value)

    def change(self, key: int, version: int, **values: int) -> None:
        """Let the row of *key* stand on with some of its values replaced."""
        row = self._head.data[key]
        kept = [int(column.data[row]) for column in self._columns]
        for name, value in values.items():
            kept[self._place[name]] = value
        self.put(key, version, tuple(kept))

    def close(self, key: int, version: int) -> None:
        """Let nothing stand for *key* from *version* on."""
        if key < len(self._head.data) and self._head.data[key] >= 0:
            self._until.data[self._head.data[key]] = version
            self._head.data[key] = -1

    def standing(self, version: int, keys: int) -> Rows:
        """Return the row of each of the first *keys* keys at *version*, -1 where none stood.

        Equals ``head`` of a table that was folded up to *version* and no further.
        """
        count = int(np.searchsorted(self._since.values, version, side="right"))
        rows = np.nonzero(self._until.data[:count] > version)[0]
        standing = np.full(keys, -1, dtype=np.int32)
        standing[self._key.data[rows]] = rows
        return standing

    def touched(self, key: int) -> NDArray[np.int32]:
        """Return the versions at which *key* changed, in order, closings included."""
        rows = np.nonzero(self._key.values == key)[0]
        moments = np.concatenate([self._since.data[rows], self._until.data[rows]])
        return np.unique(moments[moments != NEVER])


class Ledgered(Generic[V]):
    """A small mapping that remembers: for facts too few or too odd for columns."""

    def __init__(self) -> None:
        self._entries: dict[Any, list[tuple[int, V | None]]] = {}
        self.current: dict[Any, V] = {}
        """What stands at the head, in the order in which it was last put."""

    def put(self, key: Any, version: int, value: V) -> None:
        """Let *value* stand for *key* from *version* on."""
        self._entries.setdefault(key, []).append((version, value))
        self.current.pop(key, None)
        self.current[key] = value

    def drop(self, key: Any, version: int) -> None:
        """Let nothing stand for *key* from *version* on."""
        if self.current.pop(key, None) is not None:
            self._entries[key].append((version, None))

    def at(self, version: int) -> dict[Any, V]:
        """Return what stood at *version*, in the order in which it was last put."""
        found = []
        for key, entries in self._entries.items():
            upto = [entry for entry in entries if entry[0] <= version]
            if upto and upto[-1][1] is not None:
                found.append((upto[-1][0], key, upto[-1][1]))
        found.sort(key=lambda entry: entry[0])
        return {key: value for _, key, value in found}


class Names:
    """Numbers for words, in the order of their first use."""

    def __init__(self, *first: str) -> None:
        self.words: list[str] = []
        self._numbers: dict[str, int] = {}
        for word in first:
            self.number(word)

    def number(self, word: str) -> int:
        """Return the number of *word*, a fresh one at its first use."""
        number = self._numbers.get(word)
        if number is None:
            number = self._numbers[word] = len(self.words)
            self.words.append(word)
        return number

    def known(self, word: str) -> int:
        """Return the number of *word*, or -1."""
        return self._numbers.get(word, -1)

    def __iter__(self) -> Iterator[str]:
        return iter(self.words)
