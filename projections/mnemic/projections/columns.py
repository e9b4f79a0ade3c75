"""Columns that remember: append-only row versions of keyed facts.

Rules of this module:

1. A change closes the row that stands and appends another; no value is ever overwritten. So the
   state at version v is the rows with ``since <= v < until``, found by a mask, without a refold.
2. Keys are small whole numbers handed out in order, so "the row of a key" is one array.
3. Growing copies into a larger array and leaves the old one as it was: whoever still holds it
   keeps reading a truth that has not moved. ``until`` is the only cell written after its row; it
   changes from "never" to a version later than any view that can hold the array. So it is the
   only column that is copied where a table is frozen or thawed.
4. A fold writes row by row, a query reads column by column. So rows gather in a list, which costs
   a fold next to nothing, and move into the arrays together: when somebody reads, or when many
   have gathered. Rows of a batch come as columns and go there at once.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mnemic.projections.pages import zeros
from mnemic.projections.parts import Parts, nested, numbered, within
from mnemic.projections.runs import Runs

NEVER = np.iinfo(np.int32).max
"""``until`` of a row that still stands."""

Rows = NDArray[np.int32]
FIRST_CAPACITY = 64
GATHERED_MAX = 4096
"""Rows that gather before they move into the arrays unasked."""
NOTHING_MORE: Mapping[str, int] = MappingProxyType({})


def grown(array: NDArray[Any], length: int, *, fill: int = 0) -> NDArray[Any]:
    """Return *array* if it holds *length* values, else a larger copy."""
    if length <= len(array):
        return array
    larger = zeros((max(length, 2 * len(array)),), array.dtype)
    larger[: len(array)] = array
    if fill:
        larger[len(array) :] = fill
    return larger


class Series:
    """One growing array."""

    def __init__(self, dtype: type[np.generic]) -> None:
        self._array: NDArray[Any] = np.zeros(FIRST_CAPACITY, dtype=dtype)
        self._settled = 0
        self._gathered: list[int] = []

    @classmethod
    def thawed(cls, values: NDArray[Any]) -> Series:
        """Return a series of *values*, which are never written to."""
        series = cls(values.dtype.type)
        series._array, series._settled = values, len(values)
        return series

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
            self._array = grown(self._array, length)
            self._array[self._settled : length] = self._gathered
            self._settled = length
            self._gathered = []


Trail: TypeAlias = list[tuple[int, Any]]
"""Versions, rising, and what stood from each on; None for nothing."""


def step(trail: Trail, version: int, value: Any) -> None:
    """Let *value* stand from *version* on, at the end of a trail; what stood already is no step."""
    if trail and trail[-1][0] == version:
        trail.pop()
    before = trail[-1][1] if trail else None
    if value != before:
        trail.append((version, value))


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
        self._rows = array("i")
        """The standing row of every key, -1 where there is none. No list: half a million objects
        would take ten times the room and the garbage collector's time."""
        self._gathered: list[tuple[int, ...]] = []
        """Rows not in the arrays yet, as (key, since, *values)."""
        self._closed: list[tuple[int, int]] = []
        """Rows closed since the arrays were written, and when."""
        self._ended: tuple[Rows, Rows] | None = None
        """What ``_endings`` returns, until more rows end."""

    def settle(self) -> None:
        """Move what has gathered into the arrays.

        Raises:
            OverflowError: A number does not fit its column.
        """
        self._settle()

    def frozen(self) -> Parts:
        """Return all row versions."""
        self._settle()
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
    ) -> Versions:
        """Return the table that was frozen, which had these *columns*."""
        table, values = cls(**columns), within(parts, "columns")
        table._columns = {name: values[name] for name in columns}
        table._key, table._since = parts["key"], parts["since"]
        table._until = parts["until"].copy()
        table._settled = len(table._key)
        standing = np.flatnonzero(table._until == NEVER)
        table._head = np.full(int(table._key.max(initial=-1)) + 1, -1, dtype=np.int32)
        table._head[table._key[standing]] = standing
        table._rows = array("i", table._head.tobytes())
        return table

    # --- writing, row by row ----------------------------------------------------------------

    def row(self, key: int) -> int:
        """Return the standing row of *key*, or -1."""
        return self._rows[key] if key < len(self._rows) else -1

    def put(self, key: int, version: int, values: tuple[int, ...]) -> None:
        """Let *values*, one per column, stand for *key* from *version* on."""
        rows, gathered = self._rows, self._gathered
        if key >= len(rows):
            rows.extend([-1] * (key + 1 - len(rows)))
        standing = rows[key]
        if standing >= 0:
            self._closed.append((standing, version))
        rows[key] = self._settled + len(gathered)
        gathered.append((key, version, *values))
        if len(gathered) == GATHERED_MAX:
            self._settle()

    def change(
        self, key: int, version: int, more: Mapping[str, int] = NOTHING_MORE, /, **values: int
    ) -> None:
        """Let the row of *key* stand on with some of its values replaced, or added to.

        Args:
            key: Of a row that stands.
            version: From when on.
            more: What comes on top, by column.
            values: What takes the place of others, by column.
        """
        kept = list(self.values(key))
        for name, value in values.items():
            kept[self._place[name]] = value
        for name, value in more.items():
            kept[self._place[name]] += value
        self.put(key, version, tuple(kept))

    def add(self, key: int, version: int, more: tuple[int, ...]) -> None:
        """Let the row of *key* stand on with something added to each of its values."""
        self.put(key, version, tuple(map(sum, zip(self.values(key), more, strict=True))))

    def close(self, key: int, version: int) -> None:
        """Let nothing stand for *key* from *version* on."""
        standing = self.row(key)
        if standing >= 0:
            self._closed.append((standing, version))
            self._rows[key] = -1

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

    # --- writing, many rows at once ---------------------------------------------------------

    def extend(
        self,
        runs: Runs,
        since: NDArray[np.int64],
        values: Iterable[NDArray[np.int64]],
        *,
        stands: NDArray[np.bool_] | None = None,
    ) -> None:
        """Do what ``put`` and ``close`` do, for all writes of a batch.

        Args:
            runs: The writes, by their keys.
            since: The version of each, rising.
            values: A column of values for each column of the table; of a write that closes, any.
            stands: Which writes put a row; None: all. The others close the one that stands.
        """
        self._settle()
        first, ends = self._settled, runs.following(since, int(NEVER))
        puts = slice(None) if stands is None else np.flatnonzero(stands)
        last = first + len(since[puts])
        rows = np.full(len(runs), -1, dtype=np.int64)
        rows[puts] = np.arange(first, last)
        before = self.rows_of(runs.keys)
        standing = before >= 0
        self._until[before[standing]] = since[runs.firsts[standing]]
        columns = (runs.written, since, ends, *values)
        self._append(first, last, [column[puts] for column in columns])
        keys = int(runs.keys[-1]) + 1
        if keys > len(self._rows):
            self._rows.extend([-1] * (keys - len(self._rows)))
        self._head = grown(self._head, len(self._rows), fill=-1)
        self._head[runs.keys] = rows[runs.lasts]
        np.frombuffer(self._rows, dtype=np.int32)[runs.keys] = rows[runs.lasts]
        self._ended = None

    def _append(self, first: int, last: int, columns: Iterable[ArrayLike]) -> None:
        """Put the rows from *first* to before *last* behind the others.

        Args:
            first: How many there are.
            last: How many there will be.
            columns: Keys, versions from and until, and the values; or one number for all rows.
        """
        if first == last:
            return  # thawed columns are not written to, not even nothing
        self._key, self._since = grown(self._key, last), grown(self._since, last)
        self._until = grown(self._until, last, fill=int(NEVER))
        for name, column in self._columns.items():
            self._columns[name] = grown(column, last)
        tables = (self._key, self._since, self._until, *self._columns.values())
        for table, given in zip(tables, columns, strict=True):
            table[first:last] = given
            # Of an array numpy cuts off what does not fit; of other sequences it refuses that.
            if isinstance(given, np.ndarray) and not np.array_equal(table[first:last], given):
                raise OverflowError(f"a column of {table.dtype} cannot hold {given.max()}")
        self._settled = last

    def rows_of(self, keys: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the standing row of each of *keys*, -1 where there is none."""
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

    # --- reading, column by column ----------------------------------------------------------

    @property
    def names(self) -> tuple[str, ...]:
        """The columns, in order."""
        return tuple(self._columns)

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

    def keys(self, first: int) -> Rows:
        """Return whose rows those from the row *first* on are."""
        self._settle()
        return self._key[first : self._settled]

    def standing(self, version: int, keys: int) -> Rows:
        """Return the row of each of the first *keys* keys at *version*, -1 where none stood.

        Equals ``head`` of a table that was folded up to *version* and no further.
        """
        self._settle()
        since = self._since[: self._settled]
        count = int(since.searchsorted(np.int32(version), side="right"))
        rows = np.nonzero(self._until[:count] > version)[0]
        standing = np.full(keys, -1, dtype=np.int32)
        standing[self._key[rows]] = rows
        return standing

    def moved(self, standing: Rows, before: int, version: int, keys: int) -> Rows:
        """Return ``standing(version, keys)``, made from what stood at an earlier version.

        Args:
            standing: What ``standing`` or ``moved`` returned for *before*; it stays as it is.
            before: At most *version*.
            version: As for ``standing``.
            keys: As for ``standing``.
        Returns:
            *standing* itself, where nothing has changed in between.
        """
        self._settle()
        since = self._since[: self._settled]
        between = np.array((before, version), dtype=np.int32)
        first, last = since.searchsorted(between, side="right")
        ended, ends = self._endings()
        gone = ended[slice(*ends.searchsorted(between, side="right"))]
        fresh = first + np.flatnonzero(self._until[first:last] > version)
        if len(standing) == keys and not len(gone) and not len(fresh):
            return standing
        moved = np.empty(keys, dtype=np.int32)
        moved[: len(standing)] = standing
        moved[len(standing) :] = -1
        moved[self._key[gone]] = -1
        moved[self._key[fresh]] = fresh
        return moved

    def _endings(self) -> tuple[Rows, Rows]:
        """Return the rows that do not stand any longer, in the order of their ends, and these."""
        if self._ended is None:
            until = self._until[: self._settled]
            rows = np.flatnonzero(until != NEVER).astype(np.int32)
            rows = rows[np.argsort(until[rows], kind="stable")]
            self._ended = rows, until[rows]
        return self._ended

    def changed(self, first: int, last: int) -> list[int]:
        """Return the keys with a row that came or went from version *first* to *last*, rising."""
        self._settle()
        since, until = self._since[: self._settled], self._until[: self._settled]
        rows = ((first <= since) & (since <= last)) | ((first <= until) & (until <= last))
        keys: list[int] = np.unique(self._key[: self._settled][rows]).tolist()
        return keys

    def trails(
        self, keys: Iterable[int], version: int, seen: Callable[[tuple[int, ...]], Any]
    ) -> dict[int, Trail]:
        """Return, by key, what stood from which version on, up to *version*.

        Args:
            keys: Whose.
            version: Nothing later is looked at.
            seen: What counts of the values of a row; a step from like to like is left out.
        """
        found: dict[int, Trail] = {key: [] for key in keys}
        if not found:
            return found
        self._settle()
        among = np.zeros(len(self._rows), dtype=np.bool_)
        among[list(found)] = True
        rows = np.nonzero(among[self._key[: self._settled]])[0]
        for row in rows[self._since[rows] <= version].tolist():
            since, until = int(self._since[row]), int(self._until[row])
            if since == until:
                continue  # replaced before anybody could see it
            trail = found[int(self._key[row])]
            step(trail, since, seen(self.stood(row)))
            if until <= version:
                step(trail, until, None)
        return found

    def place(self, name: str) -> int:
        """Return where a column stands among the values of a row."""
        return self._place[name]

    def stood(self, row: int) -> tuple[int, ...]:
        """Return the values of a row version, be it closed or not."""
        self._settle()
        return tuple(int(column[row]) for column in self._columns.values())

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
            self._append(first, last, (key, since, NEVER, *values))
            self._gathered = []
            self._head = grown(self._head, len(self._rows), fill=-1)
            self._head[self._key[first:last]] = np.arange(first, last)  # of a key the last one
        if self._closed:
            rows, versions = np.array(self._closed, dtype=np.int32).T
            self._until[rows] = versions
            keys = self._key[rows]
            self._head[keys[self._head[keys] == rows]] = -1
            self._closed = []
            self._ended = None


class Names:
    """Numbers for words, in the order of their first use."""

    def __init__(self, *first: str) -> None:
        self.words: list[str] = []
        self._numbers: dict[str, int] = {}
        for word in first:
            self.number(word)

    @classmethod
    def thawed(cls, words: Iterable[str]) -> Names:
        """Return the numbers of *words*, which are told apart and in order."""
        names = cls()
        names.words = list(words)
        names._numbers = numbered(names.words)
        return names

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
