"""Overlay: an index extended by vectors that are not in any log yet.

A decision on blocks that are about to be promoted must compare them with everything and with each
other, before the event that would append them exists. The index itself only ever holds what an
event has appended.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from mnemic.kernel.model.vectors import Vector
from mnemic.projections.vectors.index import VectorIndex
from mnemic.projections.vectors.nearby_pairs import Pairs
from mnemic.projections.vectors.neighbour_cache import NeighbourCache

Ints = NDArray[np.int64]


class Overlay:
    """The rows that *base* has now, and behind them the extra vectors."""

    def __init__(
        self, base: VectorIndex | NeighbourCache, blocks: Sequence[int], extra: Sequence[Vector]
    ) -> None:
        self._base = base
        of_base = base.block_of.astype(np.int64, copy=False)
        self.first = len(of_base)  # not base.rows: another thread may append to it meanwhile
        """Row of the first extra vector."""
        self._vectors = extra
        self._extra = VectorIndex()
        for block, vector in zip(blocks, extra, strict=True):
            self._extra.append(block, vector)
        self.block_of: Ints = np.concatenate([of_base, np.asarray(blocks, dtype=np.int64)])

    def vector(self, row: int) -> Vector:
        """Return the vector at *row*."""
        return self._base.vector(row) if row < self.first else self._vectors[row - self.first]

    def pairs(self, queries: Sequence[Vector], rows: Ints, *, floor: int) -> Iterator[Pairs]:
        """Yield every pair of a query and one of *rows* with a cosine of at least *floor*."""
        if self.first:
            yield from self._base.pairs(queries, rows[rows < self.first], floor=floor)
        for found in self._extra.pairs(queries, rows[rows >= self.first] - self.first, floor=floor):
            yield Pairs(queries=found.queries, rows=found.rows + self.first, cosines=found.cosines)
