"""Mappings that remember: for facts too few or too odd for columns.

Rules of this module:

1. Whatever is put is a row with the versions from and until which it stood. Rows are in the order
   of the puts, so what stood at a version comes in the order in which it was last put.
2. Values are plain Python objects. A thawed mapping has none: it keeps bytes, and makes an entry
   when that is asked for. ``Coding`` says how an entry becomes plain and is made again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Generic, Self, TypeAlias, TypeVar

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from mnemic.projections.columns import GATHERED_MAX, NEVER, Rows, Series, Trail, grown, step
from mnemic.projections.parts import Parts, packed, unpacked

V = TypeVar("V")
Ends: TypeAlias = tuple[int, int]
"""Two blocks by number, the lower one first."""


@frozen
class Coding(Generic[V]):
    """How a key and its value become something plain, and what that becomes again."""

    write: Callable[[Any, V], Any]
    read: Callable[[Any], tuple[Any, V]]


PLAIN: Coding[Any] = Coding(lambda key, value: (key, value), tuple)
"""For keys and values that are texts or numbers."""


class Ledgered(Generic[V]):
    """A small mapping that remembers."""

    def __init__(self, coding: Coding[V] = PLAIN) -> None:
        self._coding = coding
        self._since = Series(np.int32)
        self._until: Rows = np.zeros(0, dtype=np.int32)
        self._closed: list[tuple[int, int]] = []
        """Rows closed since ``_until`` was written, and when."""
        self._entries: list[tuple[Any, V] | None] = []
        """Key and value of every row; None where they were not asked for since thawing."""
        self._plain_part = packed([])

    @classmethod
    def thawed(cls, parts: Mapping[str, NDArray[Any]], coding: Coding[V] = PLAIN) -> Self:
        """Return the mapping that was frozen."""
        ledgered = cls()
        ledgered._coding = coding
        ledgered._since = Series.thawed(parts["since"])
        ledgered._until = parts["until"].copy()
        ledgered._entries = [None] * len(ledgered._until)
        ledgered._take(parts)
        return ledgered

    def _take(self, parts: Mapping[str, NDArray[Any]]) -> None:
        """Take over the entries of all rows, as ``_written`` returned them."""
        self._plain_part = parts["entries"]

    def frozen(self) -> Parts:
        """Return everything that was ever put."""
        return {"since": self._since.values, "until": self._ends().copy(), **self._written()}

    def _written(self) -> Parts:
        """Return the entries of all rows."""
        if len(self._entries) == len(self._plain):
            return {"entries": self._plain_part}
        fresh = [self._coding.write(*self._entry(row)) for row in self._rows_from(len(self._plain))]
        return {"entries": packed([*self._plain, *fresh])}

    def _rows_from(self, first: int) -> range:
        return range(first, len(self._entries))

    @cached_property
    def _plain(self) -> list[tuple[Any, ...]]:
        # As tuples, which the garbage collector leaves out where all within is plain.
        return list(map(tuple, unpacked(self._plain_part)))

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
        standing = self._standing.pop(key, None)
        if standing is not None:
            self._close(standing, version)
            del self.current[key]
        self._standing[key] = len(self._entries)
        self._since.append(version)
        self._entries.append((key, value))
        self.current[key] = value

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
        rows = [row for row in self._rows_from(0) if concerned(self._entry(row)[0])]
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
        for row in range(int(np.searchsorted(since, version, side="right")) if found else 0):
            key, value = self._entry(row)
            if key in found and since[row] != until[row]:
                step(found[key], int(since[row]), seen(value))
                if until[row] <= version:
                    step(found[key], int(until[row]), None)
        return found

    def _entry(self, row: int) -> tuple[Any, V]:
        entry = self._entries[row]
        if entry is None:
            entry = self._entries[row] = self._read(row)
        return entry

    def _read(self, row: int) -> tuple[Any, V]:
        """Make the entry of a row that was thawed."""
        return self._coding.read(self._plain[row])

    def _ends(self) -> Rows:
        """Return the version until which each row stood."""
        count = len(self._entries)
        self._until = grown(self._until, count, fill=int(NEVER))
        if self._closed:
            rows, versions = zip(*self._closed, strict=True)
            self._until[list(rows)] = versions
            self._closed = []
        return self._until[:count]


class Paired(Ledgered[V]):
    """A mapping of pairs of blocks; those of a block are found without looking at the others."""

    @cached_property
    def _with(self) -> dict[int, dict[Ends, None]]:
        """By block: its pairs at the head."""
        pairs: dict[int, dict[Ends, None]] = {}
        for ends in self.current:
            for end in ends:
                pairs.setdefault(end, {})[ends] = None
        return pairs

    def of(self, block: int) -> list[Ends]:
        """Return the pairs of a block at the head."""
        return list(self._with.get(block, ()))

    def put(self, key: Ends, version: int, value: V) -> None:
        """Let *value* stand for a pair from *version* on."""
        super().put(key, version, value)
        for end in key:
            self._with.setdefault(end, {})[key] = None

    def drop(self, key: Ends, version: int) -> None:
        """Let nothing stand for a pair from *version* on."""
        if key in self.current:
            for end in key:
                pairs = self._with[end]
                del pairs[key]
                if not pairs:
                    del self._with[end]
            super().drop(key, version)
