"""Versioned maps: mappings with history, for facts too few or too irregular for columns.

Rules of this module:

1. Every put is a row with the versions from and until which it was valid. Rows are in the order
   of the puts, so the entries valid at a version come in the order in which they were last put.
2. Values are plain Python objects at the head alone. The content of a row is stored as bytes, and
   decoded when it is read. ``Coding`` defines how an entry is encoded and decoded.
3. One thread writes. Others read the map at versions that were published; ``current`` is the moving
   head and belongs to the writer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any, ClassVar, Generic, Self, TypeAlias, TypeVar

import numpy as np
import orjson
from attrs import frozen
from numpy.typing import NDArray

from mnemic.projections.storage.array_bundle import ArrayBundle, nested, within
from mnemic.projections.storage.columns import Rows, Trail, step
from mnemic.projections.storage.endings import NEVER, Endings
from mnemic.projections.storage.event_columns import EventColumns
from mnemic.projections.storage.growable_array import GrowableArray, grown
from mnemic.projections.storage.packed_bytes import LATEST_MAX, PackedBytes

V = TypeVar("V")
Ends: TypeAlias = tuple[int, int]
"""Two blocks by number, the lower one first."""
CACHED_MAX = 8192
"""Number of entries that stay cached after they were read."""
_ENDS: Mapping[str, type[np.generic]] = {"low": np.int32, "high": np.int32}
_BITS = 32


@frozen
class Coding(Generic[V]):
    """How a key and its value are converted to plain data and back."""

    write: Callable[[Any, V], Any]
    read: Callable[[Any], tuple[Any, V]]


PLAIN: Coding[Any] = Coding(lambda key, value: (key, value), tuple)
"""For keys and values that are texts or numbers."""


class VersionedMap(Generic[V]):
    """A small mapping with history."""

    MADE: ClassVar[tuple[str, ...]] = ("current", "_current_rows")
    """Attributes that are derived from the rows on first use."""

    def __init__(self, coding: Coding[V] = PLAIN) -> None:
        self._coding = coding
        self._since = GrowableArray(np.int32)
        self._ends: Rows = np.zeros(0, dtype=np.int32)
        """The version until which each row was valid; ``NEVER`` in the spare capacity behind."""
        self._written = PackedBytes()
        """Keys and values of the first rows, as bytes."""
        self._latest: list[tuple[Any, V]] = []
        """Keys and values of the rows after those."""
        self._cache: dict[int, tuple[Any, V]] = {}
        """Cache of decoded entries, by row."""
        self._endings = Endings()
        self._changed = -1
        """The last version at which a row was written or closed."""

    @classmethod
    def thawed(cls, parts: Mapping[str, NDArray[Any]], coding: Coding[V] = PLAIN) -> Self:
        """Return the mapping that was frozen."""
        ledgered = cls()
        ledgered._coding = coding
        ledgered._since = GrowableArray.thawed(parts["since"])
        ends = ledgered._ends = parts["until"].copy()
        closed = ends[ends != NEVER]
        ledgered._endings = Endings(int(closed.max(initial=-1)))
        begun = int(parts["since"].max(initial=-1))
        ledgered._changed = max(begun, int(closed.max(initial=-1)))
        ledgered._take(parts)
        return ledgered

    def _take(self, parts: Mapping[str, NDArray[Any]]) -> None:
        """Take over the entries of all rows, as ``_given`` returned them."""
        self._written = PackedBytes.thawed(within(parts, "entries"))

    def frozen(self) -> ArrayBundle:
        """Return everything that was ever put."""
        return {"since": self._since.values, "until": self._until.copy(), **self._given()}

    def _given(self) -> ArrayBundle:
        """Return the entries of all rows."""
        self._write()
        return nested(entries=self._written.frozen())

    def _write(self) -> None:
        """Encode all entries as bytes."""
        write = self._coding.write
        self._written.extend([orjson.dumps(write(*entry)) for entry in self._latest])
        self._latest = []

    def settle(self) -> None:
        """Encode all entries as bytes, as if thawed; ``current`` is derived again on next use."""
        self._write()
        self._cache = {}
        for name in self.MADE:
            self.__dict__.pop(name, None)

    # --- what events do ---------------------------------------------------------------------

    @cached_property
    def current(self) -> dict[Any, V]:
        """The entries at the head, in the order in which they were last put."""
        return dict(map(self._entry, np.flatnonzero(self._until == NEVER).tolist()))

    @cached_property
    def _current_rows(self) -> dict[Any, int]:
        """The rows of ``current``."""
        rows = np.flatnonzero(self._until == NEVER)
        return dict(zip(self._keys(rows), rows.tolist(), strict=True))

    def _keys(self, rows: NDArray[np.intp]) -> Iterable[Any]:  # noqa: ARG002 - pairs ask
        """Return the keys of the *rows* that are valid at the head."""
        return self.current

    def __contains__(self, key: Any) -> bool:
        """Return whether there is an entry of *key* at the head."""
        return key in self._current_rows

    def put(self, key: Any, version: int, value: V) -> None:
        """Set *key* to *value* from *version* on."""
        existing = self._current_rows.pop(key, -1)
        current = self.__dict__.get("current", {})  # entries are decoded only if they are asked for
        if existing >= 0:
            self._close(existing, version)
            current.pop(key, None)
        self._current_rows[key] = row = len(self._since)
        self._changed = version
        self._make_room(row + 1)
        self._keep(key, value, existing)
        self._since.append(version)  # at last, so that no reader sees a row without an entry
        current[key] = value

    def _keep(self, key: Any, value: V, before: int) -> None:  # noqa: ARG002 - pairs ask
        """Store the entry of the next row, which replaces row *before*, or none (-1)."""
        self._latest.append((key, value))
        if len(self._latest) == LATEST_MAX:
            self._write()

    def _make_room(self, rows: int) -> None:
        self._ends = grown(self._ends, rows, fill=NEVER)

    def drop(self, key: Any, version: int) -> bool:
        """Remove *key* from *version* on, and return whether it was there."""
        if key not in self._current_rows:
            return False
        self._close(self._current_rows.pop(key), version)
        self.__dict__.get("current", {}).pop(key, None)
        return True

    def _close(self, row: int, version: int) -> None:
        """Close a row at *version*."""
        self._changed = version
        self._ends[row] = version
        self._endings = self._endings.append(row, version)

    @property
    def _until(self) -> Rows:
        """The version until which each row was valid."""
        count = len(self._since)  # before the array: a larger one has all of the smaller one
        return self._ends[:count]

    @property
    def edition(self) -> tuple[int, int]:
        """A pair of numbers that changes with every put and every drop at the head."""
        return len(self._since), len(self._current_rows)

    # --- entries at a version ---------------------------------------------------------------

    def since(self, key: Any) -> int:
        """Return the version at which the current value of *key* was put."""
        return self._put_at(self._current_rows[key])

    def _put_at(self, row: int) -> int:
        return int(self._since.values[row])

    def touched(self, concerned: Callable[[Any], bool]) -> Rows:
        """Return the versions at which a key changed for which *concerned* is true."""
        rows = [row for row in range(len(self._until)) if concerned(self._entry(row)[0])]
        return self._moments(np.array(rows, dtype=np.intp))

    def _moments(self, rows: NDArray[np.intp]) -> Rows:
        """Return the versions at which some rows were opened and closed."""
        moments = np.concatenate([self._since.values[rows], self._until[rows]])
        changed: Rows = moments[moments != NEVER]
        return changed

    def at(self, version: int) -> dict[Any, V]:
        """Return the entries valid at *version*, in the order in which they were last put.

        One version can put many keys, so the order is that of the puts, not of the versions.
        """
        count = self.count_at(version)
        return dict(map(self._entry, np.flatnonzero(self._until[:count] > version).tolist()))

    def moved(self, content: dict[Any, V], before: int, version: int) -> dict[Any, V]:
        """Return ``at(version)``, derived from the content of another version.

        Args:
            content: Result of ``at`` or ``moved`` for *before*; it is not modified.
            before: An earlier or a later version.
            version: As for ``at``.
        Returns:
            *content* itself, if nothing has changed in between.
        """
        if min(before, version) >= self._changed:
            return content
        if before > version:
            first, last = self.count_at(version), self.count_at(before)
            unchanged = first == last and not len(
                self._endings.between(self._until, version, before)
            )
            return content if unchanged else self.at(version)
        first, last = self.count_at(before), self.count_at(version)
        gone = self._endings.between(self._until, before, version)
        if first == last and not len(gone):
            return content
        moved = content.copy()
        for row in gone[gone < first].tolist():
            del moved[self._entry(row)[0]]
        fresh = first + np.flatnonzero(self._until[first:last] > version)
        moved.update(map(self._entry, fresh.tolist()))
        return moved

    def entries(self, first: int, last: int) -> list[tuple[Any, V]]:
        """Return keys and values of the rows from *first* up to but not including *last*."""
        return list(map(self._entry, range(first, last)))

    def count_at(self, version: int) -> int:
        """Return the number of rows that began by *version*."""
        return int(self._since.values.searchsorted(np.int32(version), side="right"))

    def trails(
        self, first: int, last: int, version: int, seen: Callable[[V], Any]
    ) -> dict[Any, Trail]:
        """Return the history of values of the keys that changed from *first* to *last*.

        Args:
            first: A version.
            last: A later one, or the same.
            version: Later changes are ignored.
            seen: Maps a value to the part of interest; a step that leaves it unchanged is left out.
        """
        until = self._until
        since = self._since.values[: len(until)]
        rows = ((first <= since) & (since <= last)) | ((first <= until) & (until <= last))
        found: dict[Any, Trail] = {self._entry(row)[0]: [] for row in np.flatnonzero(rows).tolist()}
        count = int(np.searchsorted(since, version, side="right")) if found else 0
        for row in self._rows_of(found, count):
            key, value = self._entry(row)
            if key in found and since[row] != until[row]:
                step(found[key], int(since[row]), seen(value))
                if until[row] <= version:
                    step(found[key], int(until[row]), None)
        return found

    def _rows_of(self, keys: Iterable[Any], count: int) -> Iterable[int]:  # noqa: ARG002 - pairs ask
        """Return those of the first *count* rows that may be about some keys."""
        return range(count)

    def _entry(self, row: int) -> tuple[Any, V]:
        entry = self._cache.get(row)
        if entry is None:
            if len(self._cache) >= CACHED_MAX:
                self._cache = {}
            entry = self._cache[row] = self._read(row)
        return entry

    def _read(self, row: int) -> tuple[Any, V]:
        """Decode the entry of a row."""
        latest = self._latest  # read first: the writer encodes them, and then replaces the list
        late = row - len(self._written)
        if late >= 0:
            return latest[late]
        return self._coding.read(orjson.loads(self._written[row]))


class Pairwise(VersionedMap[V]):
    """A map keyed by pairs of blocks, whose rows are found by block without decoding them."""

    def __init__(self, coding: Coding[V] = PLAIN) -> None:
        super().__init__(coding)
        self._pairs = EventColumns(**_ENDS)

    def _take(self, parts: Mapping[str, NDArray[Any]]) -> None:
        super()._take(parts)
        self._pairs = EventColumns.thawed(within(parts, "pairs"), _ENDS)

    def _given(self) -> ArrayBundle:
        return {**super()._given(), **nested(pairs=self._pairs.frozen())}

    def _keys(self, rows: NDArray[np.intp]) -> Iterable[Ends]:
        low, high = (self._pairs.column(name)[rows].tolist() for name in _ENDS)
        return zip(low, high, strict=True)

    def _keep(self, key: Ends, value: V, before: int) -> None:
        self._pairs.append(key)
        super()._keep(key, value, before)

    def touched_by(self, block: int) -> Rows:
        """Return the versions at which a pair with *block* changed."""
        rows = len(self._until)  # once: the writer may append between two columns
        low, high = (self._pairs.column(name)[:rows] for name in _ENDS)
        return self._moments(np.flatnonzero((low == block) | (high == block)))

    def _rows_of(self, keys: Iterable[Ends], count: int) -> Iterable[int]:
        low, high = (self._pairs.column(name)[:count].astype(np.int64) for name in _ENDS)
        wanted = [(one << _BITS) | other for one, other in keys]
        rows: list[int] = np.flatnonzero(np.isin((low << _BITS) | high, wanted)).tolist()
        return rows


class Paired(Pairwise[V]):
    """A map keyed by pairs of blocks; the pairs of one block are found without a scan."""

    MADE = (*VersionedMap.MADE, "_with")

    @cached_property
    def _with(self) -> dict[int, list[Ends]]:
        """By block: its pairs at the head. They are few, and a list is small."""
        pairs: dict[int, list[Ends]] = {}
        for ends in self._current_rows:
            for end in ends:
                pairs.setdefault(end, []).append(ends)
        return pairs

    def of(self, block: int) -> list[Ends]:
        """Return the pairs of a block at the head."""
        return list(self._with.get(block, ()))

    def put(self, key: Ends, version: int, value: V) -> None:
        """Set a pair to *value* from *version* on."""
        if key not in self:
            for end in key:
                self._with.setdefault(end, []).append(key)
        super().put(key, version, value)

    def drop(self, key: Ends, version: int) -> bool:
        """Remove a pair from *version* on, and return whether it was there."""
        found = self._with  # derived from the pairs at the head, this one included
        if not super().drop(key, version):
            return False
        for end in key:
            pairs = found[end]
            pairs.remove(key)
            if not pairs:
                del found[end]
        return True
