"""Runs: writes to many keys, key by key, each key's in the order of writing."""

from __future__ import annotations

from functools import cached_property
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

Ints: TypeAlias = NDArray[np.int64]
Gaps: TypeAlias = NDArray[np.int64]
"""For each write, the write whose value it has; and from as many on as there are writes, the run
whose value before the batch it has."""

_PLACE_BITS: Final = 32


class Runs:
    """The writes of a batch by key.

    All arrays that are taken and returned are in the order of writing, one value per write, unless
    they are said to be one per run.

    Args:
        keys: The key of every write, at least one. Range: [0, 2**31).
    """

    def __init__(self, keys: Ints) -> None:
        # A key and its place make one number, and numbers are sorted faster than places are.
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
        """One per run, rising."""

    def __len__(self) -> int:
        """Return how many writes there are."""
        return len(self._order)

    @cached_property
    def run(self) -> Ints:
        """Which run each write is of."""
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
        """Return where gaps are filled from; None where there are none.

        Args:
            given: Where something was written.
        """
        if given.all():
            return None
        places = np.where(given[self._order], np.arange(len(self._order)), -1)
        last = np.maximum.accumulate(places)
        unheard = last < self._starts[self._ordered_run]
        # Written places are looked up in the order of writing, those before the batch by run.
        sources = np.where(unheard, len(self._order) + self._ordered_run, self._order[last])
        return self._scattered(sources)

    def carried(self, values: Ints, gaps: Gaps | None, before: Ints) -> Ints:
        """Return *values* with each gap filled from the last one that was given for its key.

        Args:
            values: What was written, or anything where nothing was.
            gaps: From ``gaps``.
            before: What stood before the batch, one per run.
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
        """Return ``carried``, and on top what came since the last value that was given.

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
        """Return values that stand key by key in the order of writing."""
        scattered = np.empty_like(ordered)
        scattered[self._order] = ordered
        return scattered
