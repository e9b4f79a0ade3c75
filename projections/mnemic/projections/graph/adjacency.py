"""Adjacency: the pairs of blocks that were ever linked, and their numbers.

Rules of this module:

1. Pairs are numbered in the order in which they were first linked and keep their number for ever.
   So two arrays, the lower and the higher block of each pair, hold everything.
2. Indexes for fast look-ups are built from these on first use, and rebuilt when many pairs have
   been added since.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from mnemic.projections.graph.pair_numbers import Ints, PairNumbers
from mnemic.projections.storage.array_bundle import Lazy
from mnemic.projections.storage.columns import Rows
from mnemic.projections.storage.event_columns import EventColumns, grouped
from mnemic.projections.storage.ranges import range_places

Ends = tuple[int, int]
LATE_MAX = 512
"""Minimum number of pairs buffered in lists before they move into the arrays."""
LATE_SHARE = 4
"""Buffered pairs as a share of the others (one in this many) before they move."""
NUMBERING_SHARE = 64
"""Share of all pairs (one in this many) that must be looked up together to sort all of them."""
JOINED_BITS = 32
"""Bits of the higher block in a pair that is joined into one number."""
_LOW = (1 << JOINED_BITS) - 1
_ENDS: Mapping[str, type[np.generic]] = {"low": np.int32, "high": np.int32}


class Incidence:
    """By block, every pair it was ever part of, in the order of their numbers.

    A list per block would be a hundred thousand objects for the garbage collector to traverse,
    while every thread waits. So there are two arrays, and lists only for new pairs.

    Args:
        low: The lower block of every existing pair.
        high: The higher one.
        blocks: Number of blocks.
    """

    def __init__(self, low: Rows, high: Rows, blocks: int) -> None:
        self._blocks = blocks
        self.sort(low, high)

    def add_block(self) -> None:
        self._blocks += 1

    def add(self, ends: Ends, pair: int) -> None:
        since = self._parts[1]
        for block in ends:
            found = since.get(block)
            if found is None:
                found = since[block] = []
            found.append(pair)

    def crowded(self, late: int) -> bool:
        """Whether the arrays should be rebuilt, given the number of pairs not in them."""
        return late > (max(self.sorted // LATE_SHARE, LATE_MAX) if self._parts[0].made else 0)

    def sort(self, low: Rows, high: Rows) -> None:
        """Move everything into the arrays. They are rebuilt on first use.

        Args:
            low: The lower block of every pair at present.
            high: The higher one.
        """
        first = Lazy(lambda: _of_each(low, high))
        self._parts: tuple[Lazy[tuple[Rows, NDArray[np.int64]]], dict[int, list[int]]] = first, {}
        """The arrays, and by block the pairs added since. One reference, so that no other thread
        sees the arrays of one time with the lists of another."""
        self.sorted = len(low)
        """Number of pairs in the arrays."""

    def __len__(self) -> int:
        return self._blocks

    def __getitem__(self, block: int) -> list[int]:
        first, since = self._parts
        pairs: list[int] = _within(first, block).tolist()
        pairs += since.get(block, ())
        return pairs

    def of(self, blocks: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the pairs of several blocks, ascending; a pair of two of them occurs twice."""
        pairs, _ = self.around(blocks)
        pairs.sort()
        return pairs

    def around(self, blocks: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the pairs of several blocks, in any order, and which block each was found by.

        A pair of two of them occurs twice.

        Returns:
            The pairs, and the position in *blocks* of one end of each.
        """
        lazy, since = self._parts
        first, ends = lazy.value
        known = (blocks < len(ends) - 1).nonzero()[0]
        some = blocks[known]
        begins = ends[some]
        sizes = ends[some + 1] - begins
        pairs: NDArray[np.int64] = first[range_places(begins, sizes)].astype(np.int64)
        owners = known.repeat(sizes)
        if since:
            # Copies, since the writer may extend a list between two looks at it.
            late = {
                at: [*since[block]] for at, block in enumerate(blocks.tolist()) if block in since
            }
            counts = np.fromiter(map(len, late.values()), dtype=np.int64)
            pairs = np.concatenate((pairs, np.fromiter(chain(*late.values()), dtype=np.int64)))
            owners = np.concatenate((owners, np.fromiter(late, dtype=np.int64).repeat(counts)))
        return pairs, owners

    def first(self, block: int) -> Rows:
        """Return those pairs of a block that are in the arrays."""
        return _within(self._parts[0], block)


def _within(lazy: Lazy[tuple[Rows, NDArray[np.int64]]], block: int) -> Rows:
    """Return the pairs of a block in the arrays."""
    first, ends = lazy.value
    return first[ends[block] : ends[block + 1]] if block + 1 < len(ends) else first[:0]


def _of_each(low: Rows, high: Rows) -> tuple[Rows, NDArray[np.int64]]:
    """Return the pairs of each block, concatenated, and where each block's pairs end."""
    places, ends = grouped(np.stack([low, high], axis=1).ravel())
    places >>= 1  # a pair has two consecutive places
    return places.astype(np.int32), ends


def join(low: int, high: int) -> int:
    """Return a pair as one number: not tracked by the garbage collector, smaller than a tuple."""
    return (low << JOINED_BITS) | high


def split(joined: int) -> Ends:
    """Return the pair that ``join`` made into one number."""
    return joined >> JOINED_BITS, joined & _LOW


class Pairs:
    """Numbers of unordered pairs of blocks, and the reverse."""

    def __init__(self) -> None:
        self._ends = EventColumns(**_ENDS)
        self._numbers: dict[int, int] = {}
        """Pairs added or looked up since thawing or settling, joined, with their numbers."""
        self._thawed = 0
        """Number of pairs at that time: those whose numbers may be in arrays alone."""
        self._numbering: PairNumbers | None = None
        """Index of all pairs but the latest, if many were ever looked up together."""
        self.incident = Incidence(self.low, self.high, 0)

    @classmethod
    def thawed(cls, low: Rows, high: Rows, blocks: int) -> Pairs:
        """Return the pairs with these ends, the lower block before the higher."""
        pairs = cls()
        pairs._ends = EventColumns.thawed({"low": low, "high": high}, _ENDS)
        pairs._thawed = len(low)
        pairs.incident = Incidence(low, high, blocks)
        return pairs

    def settle(self) -> None:
        """Move the look-up of all pairs into arrays: a dict of them takes ten times the memory."""
        self._sort()
        self._thawed, self._numbering = len(self), None
        self._numbers = {}

    def _sort(self) -> None:
        """Let the arrays hold all pairs."""
        self.incident.sort(self.low, self.high)

    @property
    def low(self) -> Rows:
        """The lower block number of every pair."""
        return self._ends.column("low")

    @property
    def high(self) -> Rows:
        """The higher block number of every pair."""
        return self._ends.column("high")

    def __len__(self) -> int:
        return len(self._ends)

    def ends(self, pair: int) -> Ends:
        """Return the two blocks of a pair, the lower number first."""
        low, high = self._ends.row(pair)
        return low, high

    def get(self, ends: Ends) -> int | None:
        """Return the number of a pair, the lower block first; None if it was never linked."""
        number = self._numbers.get((ends[0] << JOINED_BITS) | ends[1])
        return self._before(ends) if number is None and self._thawed else number

    def __getitem__(self, ends: Ends) -> int:
        number = self.get(ends)
        if number is None:
            raise KeyError(ends)
        return number

    def number(self, a: int, b: int) -> int:
        """Return the number of the pair, assigning one at its first link."""
        return self.numbered((a, b) if a < b else (b, a))

    def numbered(self, ends: Ends) -> int:
        """Return the number of a pair, the lower block first, assigning one at its first link."""
        joined = (ends[0] << JOINED_BITS) | ends[1]
        number = self._numbers.get(joined)
        if number is None and self._thawed:
            number = self._before(ends)
        if number is None:
            number = self._numbers[joined] = len(self._ends)
            self._ends.append(ends)
            self.incident.add(ends, number)
            late = number + 1 - self.incident.sorted
            if late > max(self.incident.sorted // LATE_SHARE, LATE_MAX):
                self._sort()
        return number

    def numbered_each(self, joined: Ints, linked: NDArray[np.bool_]) -> Ints:
        """Return the numbers of many pairs.

        Args:
            joined: Pairs as ``join`` makes them, in the order of the log.
            linked: Which of them are linked, and get a number if they have none.

        Returns:
            One number each; -1 for a pair that was not linked before and is not here.
        """
        if self._numbering is None:
            if len(joined) * NUMBERING_SHARE < len(self):
                return self._numbered_singly(joined, linked)
            self._numbering = PairNumbers(self._joined(0))
        elif len(self._numbering) < len(self):
            self._numbering.add(self._joined(len(self._numbering)))
        # In order, since neighbouring keys are found together.
        distinct, place = np.unique(joined, return_inverse=True)
        numbers = self._numbering.find(distinct)
        unnumbered = place[(numbers[place] < 0) & linked]
        if len(unnumbered):
            # Numbered in the order of first occurrence.
            fresh, firsts = np.unique(unnumbered, return_index=True)
            fresh = fresh[np.argsort(firsts)]
            numbers[fresh] = len(self) + np.arange(len(fresh))
            self._add(distinct[fresh])
        return numbers[place]

    def _numbered_singly(self, joined: Ints, linked: NDArray[np.bool_]) -> Ints:
        numbers = []
        for each, is_linked in zip(joined.tolist(), linked.tolist(), strict=True):
            ends = split(each)
            number = self.numbered(ends) if is_linked else self.get(ends)
            numbers.append(-1 if number is None else number)
        return np.array(numbers, dtype=np.int64)

    def _add(self, joined: Ints) -> None:
        """Number new pairs."""
        assert self._numbering is not None  # noqa: S101 - callers have looked there
        first = len(self)
        self._numbering.add(joined)
        self._ends.extend((joined >> JOINED_BITS, joined & _LOW))
        if self.incident.crowded(len(self) - self.incident.sorted):
            self._sort()
            self._thawed = len(self)
            self._numbers = {}  # last: other threads look there first
        else:
            for number, each in enumerate(joined.tolist(), start=first):
                self._numbers[each] = number
                self.incident.add(split(each), number)

    def _joined(self, first: int) -> Ints:
        """Return the pairs from number *first* on as ``join`` makes them."""
        low = self.low[first:].astype(np.int64)
        return (low << JOINED_BITS) | self.high[first:]

    def _before(self, ends: Ends) -> int | None:
        """Return the number of a pair that existed at the last thawing or settling."""
        low, high = ends
        pairs = self.incident.first(low)
        if not len(pairs) or not len(self.incident.first(high)):
            return None  # one of the two blocks is new, the common case of such look-ups
        found = pairs[self.high[pairs] == high]
        if not len(found):
            return None
        self._numbers[(low << JOINED_BITS) | high] = number = int(found[0])
        return number
