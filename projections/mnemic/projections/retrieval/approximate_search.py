"""Approximate nearest-neighbour search with graphs over ranges of rows.

Rules of this module:

1. Rows are append-only, so a graph over a range of them never becomes stale. An index is covered
   by several graphs: nothing is built twice except when small ranges are merged into a large one.
2. Rows without a graph (the newest ones, or a range whose graph is being built) are searched
   exactly.
3. A graph returns rows; which of them are eligible is checked afterwards. So the fewer are alive,
   the more rows are requested, and if rows it did not return might be better, the result is
   discarded and the exact search runs instead.
4. The search determines no score. Its result is a set of blocks, which a decision records and a
   replay takes as given; every number about them is computed from the vectors themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, Protocol

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from mnemic.kernel.model import vectors
from mnemic.kernel.model.vectors import Vector
from mnemic.kernel.numeric.arithmetic import NANO
from mnemic.kernel.values import Value
from mnemic.projections.vectors.index import VectorIndex
from mnemic.projections.view import View

Ints = NDArray[np.int64]
Floats = NDArray[np.float32]
Bools = NDArray[np.bool_]

SIZES: Final = (16_384, 49_152)
"""Rows of a small and of a large range. With 256 components, a graph takes 3 and 14 seconds of
one core to build, 19 and 57 MB of memory, 2.3 and 7 MB of disk, and .2 and .3 ms to search; .5 ms
where a million rows need 21 and these have more than the processor's caches hold.

Larger ranges would mean fewer graphs to search, but loading a graph from its file blocks all other
threads while the library copies it: .5 ms per thousand rows, and a task may wait 50 ms at most."""
BREADTH: Final = 200
"""Size of the candidate list that a graph keeps while it searches. With 100, 2 in 100 of the ten
nearest are missed; with 200, fewer than 1."""
OVERFETCH: Final = 2
"""Number of alive rows requested, on average, for each that is needed."""
SHORTEST: Final = 64
"""Minimum number of rows that are requested of a graph."""
DEEPEST: Final = 1_000
"""Maximum of that number: beyond it, copying out and comparing the few alive rows is faster."""
WORTH: Final = 2
"""Minimum speed-up for which graphs are built: they cost memory and work."""
_ENDLESS: Final = 2**24
COPIED: Final = 2
"""Cost of a row that is copied out before it is multiplied, in rows multiplied in place."""


class Span(NamedTuple):
    """A range of rows."""

    first: int
    end: int
    """One past the last."""

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.end - self.first


class Graph(Protocol):
    """Finds near vectors in one range of rows, and may miss some. Immutable."""

    def nearest(self, query: Floats, count: int) -> tuple[Ints, Floats] | None:
        """Return positions in the range, nearest first, and the products of *query* with them.

        Args:
            query: Integers as floats, of the vectors' dimension.
            count: How many, at most the size of the range.
        Returns:
            None if it cannot find so many.
        """
        ...


@frozen(kw_only=True, eq=False)
class Segment:
    """A range of rows with its graph."""

    span: Span
    graph: Graph


@frozen(kw_only=True)
class Costs(Value):
    """Cost of searching on this machine, in nanoseconds."""

    row: float
    """To multiply one row in place."""
    search: float
    """To find ``BREADTH`` rows in a graph."""


class Near(Protocol):
    """Search that returns the blocks that are probably nearest to a question."""

    def __call__(self, view: View, vector: Vector, pool: Ints) -> Ints | None:
        """Return numbers of blocks, ascending; None: the caller has to look at all of them.

        Args:
            view: The view to search.
            vector: The vector of the question.
            pool: Numbers of the eligible blocks, ascending.
        """
        ...


@frozen(eq=False)
class Recorded:
    """The recorded result of a search; a replay takes it as given."""

    numbers: tuple[int, ...]

    def __call__(self, view: View, vector: Vector, pool: Ints) -> Ints | None:
        """Return the recorded blocks that are in *pool*."""
        del view, vector  # the result was recorded for this view and this question
        return np.intersect1d(np.array(self.numbers, dtype=np.int64), pool)


@frozen(kw_only=True, eq=False)
class Proximity:
    """An index and the graphs over parts of it, at one time."""

    index: VectorIndex
    segments: tuple[Segment, ...]
    """Ordered by their rows, without overlap."""
    costs: Costs | None = None
    """None: the graphs are searched whenever there are any."""

    def __call__(self, view: View, vector: Vector, pool: Ints) -> Ints | None:
        """Return the blocks of *pool* that are probably nearest; None: use the exact search.

        Only the live view is searched this way: queries about the past are answered exactly.
        """
        wanted = view.policy.candidates
        if not (view.is_latest and wanted and len(pool) and view.index is self.index):
            return None
        rows = self.index.rows
        count = max(SHORTEST, -(-OVERFETCH * wanted * rows // len(pool)))
        if count > DEEPEST or not self._pays(rows, len(pool), count):
            return None

        def counts(found: Ints) -> Bools:
            # Checked for the few that were found, not by a mask of all.
            numbers = self.index.block_of[found]
            places = np.minimum(np.searchsorted(pool, numbers), len(pool) - 1)
            eligible: Bools = pool[places] == numbers
            current = np.zeros_like(eligible)
            rows = view.life.column("vector", numbers[eligible])
            current[eligible] = rows == found[eligible]
            return current

        found = nearest(self.index, self.segments, vector, wanted, count=count, counts=counts)
        return None if found is None else np.sort(self.index.block_of[found])

    def _pays(self, rows: int, alive: int, count: int) -> bool:
        """Whether searching the graphs takes less time than looking at every alive row."""
        if not self.segments or self.costs is None:
            return bool(self.segments)
        covered = sum(segment.span.rows for segment in self.segments)
        searching = len(self.segments) * self.costs.search * max(1.0, count / BREADTH)
        asking = searching + self.costs.row * (rows - covered)
        return asking < self.costs.row * min(rows, COPIED * alive)


def crossover(costs: Costs, sizes: tuple[int, int] = SIZES) -> int:
    """Return about how many rows it takes for graphs to need at most half the time of a full scan.

    Half of a small range is assumed to have no graph yet.

    >>> crossover(Costs(row=30, search=400_000))
    65536
    """
    small, large = sizes
    rows = small
    while rows < _ENDLESS:
        graphs = rows // large + rows % large // small
        if WORTH * (graphs * costs.search + costs.row * small / 2) <= costs.row * rows:
            break
        rows += max(small // 2, rows // 16, 1)
    return rows


def spans(rows: int, sizes: tuple[int, int] = SIZES) -> tuple[Span, ...]:
    """Return the ranges of which an index with *rows* rows should have graphs.

    As many large ones as fit, then small ones; the remaining rows are searched exactly.

    >>> spans(23, (2, 8))
    (Span(first=0, end=8), Span(first=8, end=16), Span(first=16, end=18), Span(first=18, end=20), \
Span(first=20, end=22))
    """
    small, large = sizes
    turn = rows // large * large
    return (
        *(Span(first, first + large) for first in range(0, turn, large)),
        *(Span(first, first + small) for first in range(turn, rows - small + 1, small)),
    )


def joined(segments: Sequence[Segment], fresh: Segment) -> tuple[Segment, ...]:
    """Return *segments* with *fresh* replacing the segments it covers."""
    apart = [
        each
        for each in segments
        if each.span.end <= fresh.span.first or fresh.span.end <= each.span.first
    ]
    return tuple(sorted([*apart, fresh], key=lambda each: each.span))


def nearest(
    index: VectorIndex,
    segments: Sequence[Segment],
    query: Vector,
    wanted: int,
    *,
    count: int,
    counts: Callable[[Ints], Bools],
) -> Ints | None:
    """Return the rows that are probably nearest to *query*, nearest first.

    Args:
        index: The index to search.
        segments: Graphs of parts of it, ordered by rows.
        query: A quantised vector.
        wanted: How many rows, >= 1.
        count: How many are requested of each graph.
        counts: Returns which of the given rows are alive.
    Returns:
        Fewer than *wanted* if no more are alive; None if a graph may have better ones than it
        returned.
    """
    extent = index.rows
    question = query.astype(np.float32)
    rows: list[Ints] = []
    products: list[Floats] = []
    unfinished: list[int] = []
    """Graphs among these that have more rows to return."""

    def look(first: int, end: int) -> None:
        if first < end:
            rows.append(np.arange(first, end))
            products.append(index.products_within(query, first, end))

    covered = 0
    for segment in segments:
        look(covered, segment.span.first)
        asked = min(count, segment.span.rows)
        answer = segment.graph.nearest(question, asked)
        if answer is None:
            return None
        if asked < segment.span.rows:
            unfinished.append(len(rows))
        rows.append(answer[0] + segment.span.first)
        products.append(answer[1])
        covered = segment.span.end
    look(covered, extent)
    found = np.concatenate(rows)
    # All at once: twenty graphs would make twenty small products.
    near = vectors.cosine_each(
        np.concatenate(products), vectors.squared_norm(query), index.squared_norms[found]
    )
    starts = np.cumsum([0, *map(len, rows[:-1])])
    horizons = np.minimum.reduceat(near, starts)[unfinished]
    best = _best_alive(found, near, wanted, counts)
    least = int(near[best[-1]]) if len(best) == wanted else -NANO - 1
    if (horizons > least).any():
        return None
    return found[best]


def _best_alive(rows: Ints, cosines: Ints, wanted: int, counts: Callable[[Ints], Bools]) -> Ints:
    """Return the positions of the nearest rows that are alive, nearest first, ties by row."""
    promising = np.arange(len(rows))
    few = 4 * wanted
    if few < len(rows):
        # Usually enough of these are alive, and the others need not be checked.
        least = np.partition(cosines, len(rows) - few)[len(rows) - few]
        promising = np.flatnonzero(cosines >= least)
    alive = promising[counts(rows[promising])]
    if len(alive) < wanted and len(promising) < len(rows):
        alive = np.flatnonzero(counts(rows))
    order = np.lexsort((rows[alive], -cosines[alive]))
    return alive[order][:wanted]
