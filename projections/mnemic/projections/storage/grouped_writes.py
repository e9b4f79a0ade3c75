"""Grouped writes: the writes of a batch by key, each key's in the order of writing."""

from __future__ import annotations

from functools import cached_property
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

Ints: TypeAlias = NDArray[np.int64]
Gaps: TypeAlias = NDArray[np.int64]
"""For each write, the write whose value it takes; an index at or above the number of writes refers
to a run, whose value before the batch is taken."""

_PLACE_BITS: Final = 32


class GroupedWrites:
    """The writes of a batch by key; the writes of one key form a run.

    All arrays that are passed and returned are in the order of writing, one value per write, unless
    they are documented as one per run.

    Args:
        keys: The key of every write, at least one. Range: [0, 2**31).
    """

    def __init__(self, keys: Ints) -> None:
        # Key and position are combined into one number: sorting numbers is faster than argsort.
        marked = (keys << _PLACE_BITS) | np.arange(len(keys))
        marked.sort()
        self._order = marked & ((1 << _PLACE_BITS) - 1)
        ordered = marked >> _PLACE_BITS
        begins = np.empty(len(keys), dtype=np.bool_)
        begins[0] = True
        np.not_equal(ordered[1:], ordered[:-1], out=begins[1:])
        self._starts = np.flatnonzero(begins)
        self._ordered_run = np.cumsum(begins) - 1
        self.keys: Ints = ordered[self._starts]
        """The keys, one per run, ascending."""

    def __len__(self) -> int:
        """Return the number of writes."""
        return len(self._order)

    @cached_property
    def run(self) -> Ints:
        """The run that each write belongs to."""
        return self._scattered(self._ordered_run)

    @cached_property
    def written(self) -> Ints:
        """The key of each write."""
        return self.keys[self.run]

    @property
    def firsts(self) -> Ints:
        """The first write of each run."""
        return self._order[self._starts]

    @property
    def lasts(self) -> Ints:
        """The last write of each run."""
        ends = np.append(self._starts[1:], len(self._order))
        lasts: Ints = self._order[ends - 1]
        return lasts

    def following(self, values: Ints, last: int) -> Ints:
        """Return for each write the value of the next one of its key, or *last*."""
        shifted = np.full(len(self._order), last, dtype=np.int64)
        shifted[:-1] = values[self._order[1:]]
        shifted[self._starts[1:] - 1] = last
        return self._scattered(shifted)

    def gaps(self, given: NDArray[np.bool_]) -> Gaps | None:
        """Return the sources from which gaps are filled; None if there are no gaps.

        Args:
            given: Which writes carry a value.
        """
        if given.all():
            return None
        places = np.where(given[self._order], np.arange(len(self._order)), -1)
        last = np.maximum.accumulate(places)
        ungiven = last < self._starts[self._ordered_run]
        # Positions of given values are looked up in the order of writing, earlier values by run.
        sources = np.where(ungiven, len(self._order) + self._ordered_run, self._order[last])
        return self._scattered(sources)

    def carried(self, values: Ints, gaps: Gaps | None, before: Ints) -> Ints:
        """Return *values* with each gap filled from the last value that was given for its key.

        Args:
            values: The written values; ignored at gaps.
            gaps: From ``gaps``.
            before: The value before the batch, one per run.
        """
        if gaps is None:
            return values
        carried: Ints = np.concatenate((values, before))[gaps]
        return carried

    def summed(self, values: Ints) -> Ints:
        """Return the running sums of each key's values."""
        sums = np.cumsum(values[self._order])
        before = (sums - values[self._order])[self._starts]
        return self._scattered(sums - before[self._ordered_run])

    def counted(self, values: Ints, gaps: Gaps | None, more: Ints, before: Ints) -> Ints:
        """Return ``carried`` plus the sum of what was added since the last value that was given.

        Args:
            values: As for ``carried``.
            gaps: As for ``carried``.
            more: What each write adds; 0 where a value is given.
            before: As for ``carried``.
        """
        if gaps is None:
            return values
        sums = self.summed(more)
        then = self.carried(sums, gaps, np.zeros(len(self.keys), dtype=np.int64))
        return self.carried(values, gaps, before) + sums - then

    def _scattered(self, ordered: Ints) -> Ints:
        """Return values that are ordered by key in the order of writing."""
        scattered = np.empty_like(ordered)
        scattered[self._order] = ordered
        return scattered
