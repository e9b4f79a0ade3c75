"""Mappings that remember: for facts too few or too odd for columns.

Rules of this module:

1. Whatever is put is a row with the versions from and until which it stood. Rows are in the order
   of the puts, so what stood at a version comes in the order in which it was last put.
2. Values are plain Python objects at the head alone. What a row held is kept as bytes, and is made
   again when that is asked for. ``Coding`` says how an entry becomes plain and is made of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any, ClassVar, Generic, Self, TypeAlias, TypeVar

import numpy as np
import orjson
from attrs import frozen
from numpy.typing import NDArray

from mnemic.projections.blobs import Blobs
from mnemic.projections.columns import GATHERED_MAX, NEVER, Rows, Series, Trail, grown, step
from mnemic.projections.journals import Journal
from mnemic.projections.parts import Parts, nested, within

V = TypeVar("V")
Ends: TypeAlias = tuple[int, int]
"""Two blocks by number, the lower one first."""
ASKED_MAX = 8192
"""Entries that are remembered after they were asked for."""
_ENDS: Mapping[str, type[np.generic]] = {"low": np.int32, "high": np.int32}
_BITS = 32


@frozen
class Coding(Generic[V]):
    """How a key and its value become something plain, and what that becomes again."""

    write: Callable[[Any, V], Any]
    read: Callable[[Any], tuple[Any, V]]


PLAIN: Coding[Any] = Coding(lambda key, value: (key, value), tuple)
"""For keys and values that are texts or numbers."""


class Ledgered(Generic[V]):
    """A small mapping that remembers."""

    MADE: ClassVar[tuple[str, ...]] = ("current", "_standing")
    """What is made of the rows when somebody asks."""

    def __init__(self, coding: Coding[V] = PLAIN) -> None:
        self._coding = coding
        self._since = Series(np.int32)
        self._until: Rows = np.zeros(0, dtype=np.int32)
        self._closed: list[tuple[int, int]] = []
        """Rows closed since ``_until`` was written, and when."""
        self._written = Blobs()
        """Keys and values of the first rows."""
        self._latest: list[tuple[Any, V]] = []
        """Those of the rows behind them."""
        self._asked: dict[int, tuple[Any, V]] = {}
        """By row; some of those that were asked for."""

    @classmethod
    def thawed(cls, parts: Mapping[str, NDArray[Any]], coding: Coding[V] = PLAIN) -> Self:
        """Return the mapping that was frozen."""
        ledgered = cls()
        ledgered._coding = coding
        ledgered._since = Series.thawed(parts["since"])
        ledgered._until = parts["until"].copy()
        ledgered._take(parts)
        return ledgered

    def _take(self, parts: Mapping[str, NDArray[Any]]) -> None:
        """Take over the entries of all rows, as ``_given`` returned them."""
        self._written = Blobs.thawed(within(parts, "entries"))

    def frozen(self) -> Parts:
        """Return everything that was ever put."""
        return {"since": self._since.values, "until": self._ends().copy(), **self._given()}

    def _given(self) -> Parts:
        """Return the entries of all rows."""
        self._write()
        return nested(entries=self._written.frozen())

    def _write(self) -> None:
        """Let all entries be bytes."""
        write = self._coding.write
        self._written.extend([orjson.dumps(write(*entry)) for entry in self._latest])
        self._latest = []

    def settle(self) -> None:
        """Let all entries be bytes, as if thawed; what stands is made again when asked for."""
        self._write()
        self._asked = {}
        for name in self.MADE:
            self.__dict__.pop(name, None)

    # --- what events do ---------------------------------------------------------------------

    @cached_property
    def current(self) -> dict[Any, V]:
        """What stands at the head, in the order in which it was last put."""
        return dict(map(self._entry, np.flatnonzero(self._ends() == NEVER).tolist()))

    @cached_property
    def _standing(self) -> dict[Any, int]:
        """The rows of ``current``."""
        rows = np.flatnonzero(self._ends() == NEVER).tolist()
        return dict(zip(self.current, rows, strict=True))

    def put(self, key: Any, version: int, value: V) -> None:
        """Let *value* stand for *key* from *version* on."""
        standing = self._standing.pop(key, -1)
        if standing >= 0:
            self._close(standing, version)
            del self.current[key]
        self._standing[key] = len(self._since)
        self._since.append(version)
        self._keep(key, value, standing)
        self.current[key] = value

    def _keep(self, key: Any, value: V, before: int) -> None:  # noqa: ARG002 - pairs ask
        """Keep the entry of the next row, which goes on from an earlier one, or from none (-1)."""
        self._latest.append((key, value))
        if len(self._latest) == GATHERED_MAX:
            self._write()

    def drop(self, key: Any, version: int) -> None:
        """Let nothing stand for *key* from *version* on."""
        if key in self.current:
            self._close(self._standing.pop(key), version)
            del self.current[key]

    def _close(self, row: int, version: int) -> None:
        """Let a row stand no longer from *version* on."""
        self._closed.append((row, version))
        if len(self._closed) == GATHERED_MAX:
            self._ends()

    # --- what stood at a version ------------------------------------------------------------

    def since(self, key: Any) -> int:
        """Return the version at which what stands for *key* was put."""
        return self._put_at(self._standing[key])

    def _put_at(self, row: int) -> int:
        return int(self._since.values[row])

    def touched(self, concerned: Callable[[Any], bool]) -> Rows:
        """Return the versions at which a key changed that is *concerned*."""
        rows = [row for row in range(len(self._since)) if concerned(self._entry(row)[0])]
        return self._moments(np.array(rows, dtype=np.intp))

    def _moments(self, rows: NDArray[np.intp]) -> Rows:
        """Return the versions at which some rows came and went."""
        moments = np.concatenate([self._since.values[rows], self._ends()[rows]])
        changed: Rows = moments[moments != NEVER]
        return changed

    def at(self, version: int) -> dict[Any, V]:
        """Return what stood at *version*, in the order in which it was last put.

        One version can put many keys, so the order is that of the puts, not of the versions.
        """
        count = int(np.searchsorted(self._since.values, version, side="right"))
        return dict(map(self._entry, np.flatnonzero(self._ends()[:count] > version).tolist()))

    def trails(
        self, first: int, last: int, version: int, seen: Callable[[V], Any]
    ) -> dict[Any, Trail]:
        """Return, by key that changed from *first* to *last*, what stood from which version on.

        Args:
            first: A version.
            last: A later one, or the same.
            version: Nothing later is looked at.
            seen: What counts of a value; a step from like to like is left out.
        """
        since, until = self._since.values, self._ends()
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
        entry = self._asked.get(row)
        if entry is None:
            if len(self._asked) >= ASKED_MAX:
                self._asked = {}
            entry = self._asked[row] = self._read(row)
        return entry

    def _read(self, row: int) -> tuple[Any, V]:
        """Make the entry of a row."""
        late = row - len(self._written)
        if late >= 0:
            return self._latest[late]
        return self._coding.read(orjson.loads(self._written[row]))

    def _ends(self) -> Rows:
        """Return the version until which each row stood."""
        count = len(self._since)
        self._until = grown(self._until, count, fill=int(NEVER))
        if self._closed:
            rows, versions = zip(*self._closed, strict=True)
            self._until[list(rows)] = versions
            self._closed = []
        return self._until[:count]


class Pairwise(Ledgered[V]):
    """A mapping of pairs of blocks, whose rows are found by block without reading them."""

    def __init__(self, coding: Coding[V] = PLAIN) -> None:
        super().__init__(coding)
        self._pairs = Journal(**_ENDS)

    def _take(self, parts: Mapping[str, NDArray[Any]]) -> None:
        super()._take(parts)
        self._pairs = Journal.thawed(within(parts, "pairs"), _ENDS)

    def _given(self) -> Parts:
        return {**super()._given(), **nested(pairs=self._pairs.frozen())}

    def _keep(self, key: Ends, value: V, before: int) -> None:
        self._pairs.append(key)
        super()._keep(key, value, before)

    def touched_by(self, block: int) -> Rows:
        """Return the versions at which a pair of a block changed."""
        low, high = self._pairs.column("low"), self._pairs.column("high")
        return self._moments(np.flatnonzero((low == block) | (high == block)))

    def _rows_of(self, keys: Iterable[Ends], count: int) -> Iterable[int]:
        low, high = (self._pairs.column(name)[:count].astype(np.int64) for name in _ENDS)
        wanted = [(one << _BITS) | other for one, other in keys]
        rows: list[int] = np.flatnonzero(np.isin((low << _BITS) | high, wanted)).tolist()
        return rows


class Paired(Pairwise[V]):
    """A mapping of pairs of blocks; those of a block are found without looking at the others."""

    MADE = (*Ledgered.MADE, "_with")

    @cached_property
    def _with(self) -> dict[int, list[Ends]]:
        """By block: its pairs at the head. They are few, and a list is small."""
        pairs: dict[int, list[Ends]] = {}
        for ends in self.current:
            for end in ends:
                pairs.setdefault(end, []).append(ends)
        return pairs

    def of(self, block: int) -> list[Ends]:
        """Return the pairs of a block at the head."""
        return list(self._with.get(block, ()))

    def put(self, key: Ends, version: int, value: V) -> None:
        """Let *value* stand for a pair from *version* on."""
        if key not in self.current:
            for end in key:
                self._with.setdefault(end, []).append(key)
        super().put(key, version, value)

    def drop(self, key: Ends, version: int) -> None:
        """Let nothing stand for a pair from *version* on."""
        if key in self.current:
            for end in key:
                pairs = self._with[end]
                pairs.remove(key)
                if not pairs:
                    del self._with[end]
            super().drop(key, version)
