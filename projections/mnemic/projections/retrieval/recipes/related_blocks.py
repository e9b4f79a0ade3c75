"""Pairs of active blocks whose strengths depend on each other, found from some of the blocks."""

from __future__ import annotations

from typing import Self

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from mnemic.projections.storage.event_columns import grouped
from mnemic.projections.storage.ranges import range_places
from mnemic.projections.storage.sorted_arrays import distinct
from mnemic.projections.view.active_columns import ActiveColumns, At

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@frozen(eq=False)
class RelatedBlocks:
    """Pairs of places, by each of the two."""

    pairs: Ints
    """Shape (pairs, 2)."""
    incident: Ints
    """The positions in the flattened *pairs* that hold the first place, then the second, ..."""
    ends: Ints
    """Where those of each place end, beginning with 0."""

    @classmethod
    def of(cls, columns: ActiveColumns, blocks: Ints) -> Self:
        """Return those of *blocks*, shape (pairs, 2), of which both are active."""
        pairs = columns.of_numbers(blocks)
        pairs = pairs[(pairs >= 0).all(axis=1)]
        return cls(pairs, *grouped(pairs.ravel()))

    def closure(self, at: At, marked: Bools, eligible: Bools | None) -> tuple[At, Ints]:
        """Return *at* with all places that they are related to, directly or by others, and how.

        Args:
            at: Places.
            marked: A mask of them, see ``ActiveColumns.mask``; it is extended.
            eligible: A mask of the places that count; None: all do.

        Returns:
            Places, and pairs of them, shape (pairs, 2).
        """
        if isinstance(at, slice) or not len(self.pairs):
            return at, self.pairs
        front, found, other_ends = at, [self.incident[:0]], self.pairs.ravel()
        while len(front):
            front = front[front < len(self.ends) - 1]
            begins = self.ends[front]
            slots = self.incident[range_places(begins, self.ends[front + 1] - begins)]
            reached = other_ends[slots ^ 1]
            if eligible is not None:
                counting = eligible[reached]
                slots, reached = slots[counting], reached[counting]
            found.append(slots >> 1)
            front = distinct(reached[~marked[reached]])[0]
            marked[front] = True
        return marked[:-1].nonzero()[0], self.pairs[distinct(np.concatenate(found))[0]]
