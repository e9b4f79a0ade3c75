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
    """Rows below ``base.rows`` are the base's; the ones from there are the extra vectors."""

    def __init__(
        self, base: VectorIndex | NeighbourCache, blocks: Sequence[int], extra: Sequence[Vector]
    ) -> None:
        self._base = base
        self.first = base.rows
        """Row of the first extra vector."""
        self._vectors = extra
        self._extra = VectorIndex()
        for block, vector in zip(blocks, extra, strict=True):
            self._extra.append(block, vector)
        self.block_of: Ints = np.concatenate(
            [base.block_of.astype(np.int64, copy=False), np.asarray(blocks, dtype=np.int64)]
        )

    def vector(self, row: int) -> Vector:
        """Return the vector at *row*."""
        return self._base.vector(row) if row < self.first else self._vectors[row - self.first]

    def pairs(self, queries: Sequence[Vector], rows: Ints, *, floor: int) -> Iterator[Pairs]:
        """Yield every pair of a query and one of *rows* with a cosine of at least *floor*."""
        if self.first:
            yield from self._base.pairs(queries, rows[rows < self.first], floor=floor)
        for found in self._extra.pairs(queries, rows[rows >= self.first] - self.first, floor=floor):
            yield Pairs(queries=found.queries, rows=found.rows + self.first, cosines=found.cosines)
