"""Neighbour cache: all rows of an index near to some vectors, found in one pass.

A promotion queries the vectors of its blocks twice: for near-duplicates, and for candidate edges.
Both answers are among the pairs that reach the lower of two floors.

Rows of an index never change, so the result stays valid while the index grows and blocks are added
and removed. The cache may therefore be filled ahead of time, outside of any lock; a query names the
rows that are alive by then, and rows that are not in the cache are searched at that time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from mnemic.kernel.model.vectors import Vector
from mnemic.kernel.numeric.arithmetic import Integers
from mnemic.projections.vectors.index import VectorIndex
from mnemic.projections.vectors.nearby_pairs import Pairs

PAIRS_MAX: Final = 2**21
"""Maximum number of pairs that are kept: 48 MiB."""
_PAIRS_AT_ONCE: Final = 2**16


class NeighbourCache:
    """The neighbours of some vectors in an index."""

    def __init__(
        self,
        index: VectorIndex,
        vectors: Sequence[Vector],
        rows: Integers,
        *,
        floor: int,
        pairs_max: int = PAIRS_MAX,
    ) -> None:
        """Find every pair of one of *vectors* and one of *rows*.

        Args:
            index: The index to search.
            vectors: Quantised, of the index's dimension.
            rows: Row numbers, without repetition.
            floor: Lowest cosine of interest in nano-units, >= 0.
            pairs_max: With more pairs than that nothing is kept, and each query searches again.
        """
        self.index = index
        self._floor = floor
        self._places: dict[bytes, int] = {}
        """The position of each distinct vector, by its bytes."""
        for vector in vectors:
            self._places.setdefault(vector.tobytes(), len(self._places))
        self._searched = np.zeros(index.rows, dtype=np.bool_)
        different = {vector.tobytes(): vector for vector in vectors}
        near = index.pairs(list(different.values()), rows, floor=floor) if len(rows) else iter(())
        found = _kept(near, pairs_max)
        if found is None:
            self._places.clear()
            found = _joined([])
        self._searched[rows] = True
        # Smaller integer types are sorted faster.
        order = found.queries.astype(np.min_scalar_type(len(vectors))).argsort(kind="stable")
        self._found = found.at(order)
        self._bounds = np.searchsorted(self._found.queries, np.arange(len(self._places) + 1))

    @property
    def rows(self) -> int:
        """Current number of rows of the index."""
        return self.index.rows

    @property
    def block_of(self) -> Integers:
        """Ordinal of the owning block per row."""
        return self.index.block_of

    def vector(self, row: int) -> Vector:
        """Return the vector in *row*."""
        return self.index.vector(row)

    def pairs(self, queries: Sequence[Vector], rows: Integers, *, floor: int) -> Iterator[Pairs]:
        """Yield every pair of a query and one of *rows* with a cosine of at least *floor*."""
        places = [self._places.get(query.tobytes(), -1) for query in queries]
        if floor < self._floor or -1 in places:
            yield from self.index.pairs(queries, rows, floor=floor)
            return
        wanted = np.zeros(self.rows, dtype=np.bool_)
        wanted[rows] = True
        late = wanted.copy()
        late[: len(self._searched)] &= ~self._searched
        for found in self._at(places):
            near = wanted[found.rows]
            if floor > self._floor:
                near &= found.cosines >= floor
            yield found if near.all() else found.at(np.flatnonzero(near))
        if late.any():
            yield from self.index.pairs(queries, np.flatnonzero(late), floor=floor)

    def _at(self, places: Sequence[int]) -> Iterator[Pairs]:
        """Yield the pairs found for the vectors at *places*, some at a time."""
        batch: list[Pairs] = []
        held = 0
        for query, place in enumerate(places):
            of = slice(int(self._bounds[place]), int(self._bounds[place + 1]))
            rows, cosines = self._found.rows[of], self._found.cosines[of]
            batch.append(Pairs(queries=np.full(len(rows), query), rows=rows, cosines=cosines))
            held += len(rows)
            if held >= _PAIRS_AT_ONCE:
                yield _joined(batch)
                batch, held = [], 0
        yield _joined(batch)


def _kept(found: Iterator[Pairs], pairs_max: int) -> Pairs | None:
    """Return all pairs; None when there are more than *pairs_max*."""
    kept: list[Pairs] = []
    count = 0
    for pairs in found:
        kept.append(pairs)
        count += len(pairs.rows)
        if count > pairs_max:
            return None
    return _joined(kept)


def _joined(pairs: Sequence[Pairs]) -> Pairs:
    nothing = np.empty(0, dtype=np.int64)
    return Pairs(
        queries=np.concatenate([nothing, *(each.queries for each in pairs)]),
        rows=np.concatenate([nothing, *(each.rows for each in pairs)]),
        cosines=np.concatenate([nothing, *(each.cosines for each in pairs)]),
    )
