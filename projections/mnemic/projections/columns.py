"""Columns that remember: append-only row versions of keyed facts.

Rules of this module:

1. A change closes the row that stands and appends another; no value is ever overwritten. So the
   state at version v is the rows with ``since <= v < until``, found by a mask, without a refold.
2. Keys are small whole numbers handed out in order, so "the row of a key" is one array.
3. Growing copies into a larger array and leaves the old one as it was: whoever still holds it
   keeps reading a truth that has not moved. ``until`` is the only cell written after its row; it
   changes from "never" to a version later than any view that can hold the array.
4. A fold writes row by row, a query reads column by column. So rows gather in a list, which costs
   a fold next to nothing, and move into the arrays together: when somebody reads, or when many
   have gathered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

NEVER = np.iinfo(np.int32).max
"""``until`` of a row that still stands."""

Rows = NDArray[np.int32]
V = TypeVar("V")
FIRST_CAPACITY = 64
GATHERED_MAX = 4096
"""Rows that gather before they move into the arrays unasked."""


def _grown(array: NDArray[Any], length: int, *, fill: int = 0) -> NDArray[Any]:
    """Return *array* if it holds *length* values, else a larger copy."""
    if length <= len(array):
        return array
    larger = np.full(max(length, 2 * len(array)), fill, dtype=array.dtype)
    larger[: len(array)] = array
    return larger


class Series:
    """One growing array."""

    def __init__(self, dtype: type[np.generic]) -> None:
        self._array: NDArray[Any] = np.zeros(FIRST_CAPACITY, dtype=dtype)
        self._settled = 0
        self._gathered: list[int] = []

    def append(self, value: int) -> None:
        self._gathered.append(value)
        if len(self._gathered) == GATHERED_MAX:
            self._settle()

    def __len__(self) -> int:
        return self._settled + len(self._gathered)

    @property
    def values(self) -> NDArray[Any]:
        """Everything appended; the array is shared, do not write to it."""
        self._settle()
        return self._array[: self._settled]

    def _settle(self) -> None:
        if self._gathered:
            length = len(self)
            self._array = _grown(self._array, length)
            self._array[self._settled : length] = self._gathered
            self._settled = length
            self._gathered = []


class Versions:
    """Row versions of one kind of fact, keyed by whole numbers from 0."""

    def __init__(self, **columns: type[np.generic]) -> None:
        self._columns = {name: np.zeros(FIRST_CAPACITY, dtype) for name, dtype in columns.items()}
        self._place = {name: place for place, name in enumerate(columns)}
        self._key: Rows = np.zeros(FIRST_CAPACITY, dtype=np.int32)
        self._since: Rows = np.zeros(FIRST_CAPACITY, dtype=np.int32)
        self._until: Rows = np.full(FIRST_CAPACITY, NEVER, dtype=np.int32)
        self._head: Rows = np.full(FIRST_CAPACITY, -1, dtype=np.int32)
        self._settled = 0
        self._rows: list[int] = []
        """The standing row of every key, -1 where there is none."""
        self._gathered: list[tuple[int, ...]] = []
        """Rows not in the arrays yet, as (key, since, *values)."""
        self._closed: list[tuple[int, int]] = []
        """Rows closed since the arrays were written, and when."""
        self._moved: list[int] = []
        """Keys whose standing row changed since."""

    # --- writing, row by row ----------------------------------------------------------------

    def row(self, key: int) -> int:
        """Return the standing row of *key*, or -1."""
        return self._rows[key] if key < len(self._rows) else -1

    def put(self, key: int, version: int, values: tuple[int, ...]) -> None:
        """Let *values*, one per column, stand for *key* from *version* on."""
        while key >= len(self._rows):
            self._rows.append(-1)
        standing = self._rows[key]
        if standing >= 0:
            self._closed.append((standing, version))
        self._rows[key] = self._settled + len(self._gathered)
        self._gathered.append((key, version, *values))
        self._moved.append(key)
        if len(self._gathered) == GATHERED_MAX:
            self._settle()

    def change(self, key: int, version: int, **values: int) -> None:
        """Let the row of *key* stand on with some of its values replaced."""
        kept = list(self.values(key))
        for name, value in values.items():
            kept[self._place[name]] = value
        self.put(key, version, tuple(kept))

    def close(self, key: int, version: int) -> None:
        """Let nothing stand for *key* from *version* on."""
        standing = self.row(key)
        if standing >= 0:
            self._closed.append((standing, version))
            self._rows[key] = -1
            self._moved.append(key)

    def values(self, key: int) -> tuple[int, ...]:
        """Return the values that stand for *key*."""
        row = self._rows[key]
        if row >= self._settled:
            return self._gathered[row - self._settled][2:]
        return tuple(int(column[row]) for column in self._columns.values())

    def value(self, key: int, name: str) -> int:
        """Return one of the values that stand for *key*."""
        row = self._rows[key]
        if row >= self._settled:
            return self._gathered[row - self._settled][2 + self._place[name]]
        return int(self._columns[name][row])

    # --- reading, column by column ----------------------------------------------------------

    @property
    def count(self) -> int:
        """How many row versions there are."""
        return self._settled + len(self._gathered)

    @property
    def head(self) -> Rows:
        """The standing row of every key, -1 where there is none. It moves with every change."""
        self._settle()
        return self._head[: len(self._rows)]

    def column(self, name: str) -> NDArray[Any]:
        """Return all row versions of one column, to be indexed by rows."""
        self._settle()
        return self._columns[name]

    def standing(self, version: int, keys: int) -> Rows:
        """Return the row of each of the first *keys* keys at *version*, -1 where none stood.

        Equals ``head`` of a table that was folded up to *version* and no further.
        """
        self._settle()
        since = self._since[: self._settled]
        count = int(np.searchsorted(since, version, side="right"))
        rows = np.nonzero(self._until[:count] > version)[0]
        standing = np.full(keys, -1, dtype=np.int32)
        standing[self._key[rows]] = rows
        return standing

    def touched(self, key: int) -> NDArray[np.int32]:
        """Return the versions at which *key* changed, in order, closings included."""
        self._settle()
        rows = np.nonzero(self._key[: self._settled] == key)[0]
        moments = np.concatenate([self._since[rows], self._until[rows]])
        return np.unique(moments[moments != NEVER])

    def _settle(self) -> None:
        """Move what has gathered into the arrays."""
        if self._gathered:
            first, last = self._settled, self._settled + len(self._gathered)
            key, since, *values = zip(*self._gathered, strict=True)
            self._key = _grown(self._key, last)
            self._since = _grown(self._since, last)
            self._until = _grown(self._until, last, fill=int(NEVER))
            self._key[first:last] = key
            self._since[first:last] = since
            for name, column in zip(self._columns, values, strict=True):
                self._columns[name] = _grown(self._columns[name], last)
                self._columns[name][first:last] = column
            self._settled, self._gathered = last, []
        if self._closed:
            rows, versions = zip(*self._closed, strict=True)
            self._until[list(rows)] = versions
            self._closed = []
        if self._moved:
            self._head = _grown(self._head, len(self._rows), fill=-1)
            self._head[self._moved] = [self._rows[key] for key in self._moved]
            self._moved = []


class Ledgered(Generic[V]):
    """A small mapping that remembers: for facts too few or too odd for columns."""

    def __init__(self) -> None:
        self._entries: dict[Any, list[tuple[int, int, V | None]]] = {}
        """By key: version, place among all puts, and what was put; None where it was dropped."""
        self._puts = 0
        self.current: dict[Any, V] = {}
        """What stands at the head, in the order in which it was last put."""

    def put(self, key: Any, version: int, value: V) -> None:
        """Let *value* stand for *key* from *version* on."""
        self._puts += 1
        self._entries.setdefault(key, []).append((version, self._puts, value))
        self.current.pop(key, None)
        self.current[key] = value

    def drop(self, key: Any, version: int) -> None:
        """Let nothing stand for *key* from *version* on."""
        if self.current and self.current.pop(key, None) is not None:
            self._entries[key].append((version, self._puts, None))

    def touched(self, concerned: Callable[[Any], bool]) -> NDArray[np.int32]:
        """Return the versions at which a key changed that is *concerned*."""
        versions = [
            version
            for key, entries in self._entries.items()
            if concerned(key)
            for version, _, _ in entries
        ]
        return np.array(versions, dtype=np.int32)

    def at(self, version: int) -> dict[Any, V]:
        """Return what stood at *version*, in the order in which it was last put.

        One version can put many keys, so the order is that of the puts, not of the versions.
        """
        found = []
        for key, entries in self._entries.items():
            for since, place, value in reversed(entries):
                if since <= version:
                    if value is not None:
                        found.append((place, key, value))
                    break
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
