"""Pairs of similar vectors, found from exact products, one chunk at a time.

Most products are of no interest, so each is only compared with a bound, while it is still in the
processor's caches. The bound may admit a pair that is too far apart, and never excludes one that is
near enough: the cosine of an admitted pair is computed, and that alone decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Protocol, TypeAlias

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from mnemic.kernel.model import vectors
from mnemic.kernel.model.vectors import Vector
from mnemic.kernel.numeric.arithmetic import NANO, Integers

Matrix: TypeAlias = NDArray[np.float32]
Hits: TypeAlias = tuple[Integers, Integers, Matrix]
"""Queries, rows and products of pairs that passed the bound."""

_PAIRS_AT_ONCE: Final = 2**16
"""Number of pairs whose cosines are computed together: they take a megabyte of memory."""


@frozen(kw_only=True, eq=False)
class Pairs:
    """Pairs of a query and a row whose cosine reaches a floor, as three columns."""

    queries: Integers
    """Positions of the queries."""
    rows: Integers
    cosines: Integers
    """Nano-units, none below the floor."""

    def at(self, positions: Integers | NDArray[np.bool_]) -> Pairs:
        """Return the pairs at *positions*."""
        return Pairs(
            queries=self.queries[positions],
            rows=self.rows[positions],
            cosines=self.cosines[positions],
        )


class Neighbourhood(Protocol):
    """Protocol of a source for pairwise search: an index, alone or with additional vectors."""

    @property
    def block_of(self) -> Integers:
        """Ordinal of the owning block per row."""
        ...

    def vector(self, row: int) -> Vector:
        """Return the vector in *row*."""
        ...

    def pairs(self, queries: Sequence[Vector], rows: Integers, *, floor: int) -> Iterator[Pairs]:
        """Yield every pair of a query and one of *rows* with a cosine of at least *floor*."""
        ...


def reaching(
    products: Iterable[tuple[Integers, Matrix]],
    *,
    norms: Integers,
    squared_norms: Integers,
    alive: NDArray[np.bool_],
    floor: int,
) -> Iterator[Pairs]:
    """Yield the pairs of a query and an alive row with a cosine of at least *floor*.

    Args:
        products: Rows and the exact products of all queries with them, shape (queries, rows).
            Chunks may overwrite each other.
        norms: Squared length per query.
        squared_norms: Squared length per row of the index.
        alive: Which rows of the index count.
        floor: Nano-units, >= 0.
    """
    least = _least_dots(norms, squared_norms[alive], floor)[:, None]

    def near_indeed(held: Sequence[Hits]) -> Pairs:
        queries, rows, dots = (np.concatenate(column) for column in zip(*held, strict=True))
        cosines = vectors.cosine_each(dots, norms[queries], squared_norms[rows])
        found = Pairs(queries=queries, rows=rows, cosines=cosines)
        near = (cosines >= floor) & alive[rows]
        return found if near.all() else found.at(np.flatnonzero(near))

    held: list[Hits] = []
    count = 0
    for rows, dots in products:
        hits = np.flatnonzero(dots >= least)
        # Dividing for each would take longer than everything else that is done to a hit.
        firsts = np.arange(len(dots) + 1) * len(rows)
        which = np.repeat(np.arange(len(dots)), np.diff(hits.searchsorted(firsts)))
        held.append((which, rows[hits - firsts[which]], dots.reshape(-1)[hits]))
        count += len(hits)
        if count >= _PAIRS_AT_ONCE:
            yield near_indeed(held)
            held, count = [], 0
    if count:
        yield near_indeed(held)


def _least_dots(norms: Integers, squared_norms: Integers, floor: int) -> Matrix:
    """Return per query a product that no pair at or above *floor* can fall below.

    It is only an optimisation, so it errs to the low side: one nano-unit less than the floor, the
    shortest row there is, and rounded down to an integer, which float32 holds.
    """
    lengths = squared_norms[squared_norms > 0]
    shortest = lengths.min(initial=vectors.SQUARED_NORM_MAX)
    length = np.sqrt(norms.astype(np.float64) * float(shortest))
    least = np.floor(length * (max(floor - 1, 0) / NANO))
    if floor:
        least[norms == 0] = np.inf  # a zero query reaches no positive floor
    return least.astype(np.float32)
