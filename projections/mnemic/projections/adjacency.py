"""Adjacency: which blocks were ever linked to which, and the numbers of those pairs.

Rules of this module:

1. Pairs are numbered in the order in which they were first linked and keep their number for ever.
   So two arrays, the lower and the higher block of each pair, say everything.
2. What answers quickly is made of these: for a fold that began at the first event as it goes, for
   a thawed one of the two arrays when somebody asks, and then block by block.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mnemic.projections.columns import Rows
from mnemic.projections.journals import Journal, grouped

Ends = tuple[int, int]
_ENDS: Mapping[str, type[np.generic]] = {"low": np.int32, "high": np.int32}


class Incidence:
    """By block, every pair it was ever part of, in the order of their numbers.

    Args:
        low: The lower block of every pair there is.
        high: The higher one.
        blocks: How many blocks there are.
    """

    def __init__(self, low: Rows, high: Rows, blocks: int) -> None:
        self._low, self._high = low, high
        self._pairs_of: list[list[int] | None] = [None] * blocks

    def add_block(self) -> None:
        self._pairs_of.append([])

    def add(self, ends: Ends, pair: int) -> None:
        for block in ends:
            found = self._pairs_of[block]
            (self[block] if found is None else found).append(pair)

    def __len__(self) -> int:
        return len(self._pairs_of)

    def __getitem__(self, block: int) -> list[int]:
        found = self._pairs_of[block]
        if found is None:
            found = self._pairs_of[block] = self.first(block).tolist()
        return found

    def first(self, block: int) -> NDArray[np.int64]:
        """Return those pairs of a block that there were in the beginning."""
        places, ends = self._grouped
        # A pair stands at two places, one behind the other.
        return places[ends[block] : ends[block + 1]] >> 1 if block + 1 < len(ends) else places[:0]

    @cached_property
    def _grouped(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        return grouped(np.stack([self._low, self._high], axis=1).ravel())


class Pairs:
    """Numbers of unordered pairs of blocks, and the other way round."""

    def __init__(self) -> None:
        self._ends = Journal(**_ENDS)
        self._count = 0
        self._numbers: dict[Ends, int] = {}
        """Of the pairs that were added or asked for since thawing."""
        self._thawed = 0
        """How many pairs there were in the beginning."""
        self.incident = Incidence(self.low, self.high, 0)

    @classmethod
    def thawed(cls, low: Rows, high: Rows, blocks: int) -> Pairs:
        """Return the pairs with these ends, the lower block before the higher."""
        pairs = cls()
        pairs._ends = Journal.thawed({"low": low, "high": high}, _ENDS)
        pairs._count = pairs._thawed = len(low)
        pairs.incident = Incidence(low, high, blocks)
        return pairs

    @property
    def low(self) -> Rows:
        """The lower block number of every pair."""
        return self._ends.column("low")

    @property
    def high(self) -> Rows:
        """The higher block number of every pair."""
        return self._ends.column("high")

    def __len__(self) -> int:
        return self._count

    def get(self, ends: Ends) -> int | None:
        """Return the number of a pair, the lower block first; None if it was never linked."""
        number = self._numbers.get(ends)
        return self._before(ends) if number is None and self._thawed else number

    def __getitem__(self, ends: Ends) -> int:
        number = self.get(ends)
        if number is None:
            raise KeyError(ends)
        return number

    def number(self, a: int, b: int) -> int:
        """Return the number of the pair, a fresh one at its first link."""
        ends = (a, b) if a < b else (b, a)
        number = self._numbers.get(ends)
        if number is None and self._thawed:
            number = self._before(ends)
        if number is None:
            number = self._numbers[ends] = self._count
            self._count += 1
            self._ends.append(ends)
            self.incident.add(ends, number)
        return number

    def _before(self, ends: Ends) -> int | None:
        """Return the number of a pair that there was in the beginning."""
        low, high = ends
        pairs = self.incident.first(low)
        found = pairs[self.high[pairs] == high]
        if not len(found):
            return None
        self._numbers[ends] = number = int(found[0])
        return number
