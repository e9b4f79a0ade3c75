"""Vectors meet an index: all that they are near to, found in one pass.

Who promotes blocks asks twice about their vectors: which blocks say almost the same, and which may
be linked with them. Both answers are among the pairs that reach the lower of two floors.

Rows of an index never change, so whatever was found stays true while it grows and blocks come and
go. A meeting may therefore take place before the moment that it is needed for, where it keeps
nobody waiting; who asks names the rows that count by then, and those that it has not looked at are
looked at then.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from mnemic.kernel.arithmetic import Integers
from mnemic.kernel.vectors import Vector
from mnemic.projections.index import VectorIndex
from mnemic.projections.pairs import Pairs

PAIRS_MAX: Final = 2**21
"""Pairs that are kept: 48 MiB."""
_PAIRS_AT_ONCE: Final = 2**16


class Meeting:
    """What some vectors are near to in an index."""

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
            index: Where to look.
            vectors: Quantised, of the index's dimension.
            rows: Row numbers, without repetition.
            floor: Lowest cosine of interest in nano-units, >= 0.
            pairs_max: With more pairs than that nothing is kept, and whoever asks looks again.
        """
        self.index = index
        self._floor = floor
        self._places: dict[bytes, int] = {}
        """Of each different vector, by its bytes."""
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
        # The smaller the numbers, the quicker they are sorted.
        order = found.queries.astype(np.min_scalar_type(len(vectors))).argsort(kind="stable")
        self._found = found.at(order)
        self._bounds = np.searchsorted(self._found.queries, np.arange(len(self._places) + 1))

    @property
    def rows(self) -> int:
        """Number of rows of the index by now."""
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
        """Yield what was found for the vectors at *places*, for some at a time."""
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
