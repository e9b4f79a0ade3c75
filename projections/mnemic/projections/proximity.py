"""Approximate search: which vectors are probably nearest, without looking at all of them.

Rules of this module:

1. Rows are only ever added, so a graph over a stretch of them is good for as long as they are. An
   index is covered by several: nothing is built twice but when small stretches become a large one.
2. What no graph covers (the newest rows, or a stretch that is being built) is searched exactly.
3. A graph finds rows; which of them count is asked afterwards. So it is asked for more of them the
   fewer are alive, and wherever something better may lie behind what it gave, it says nothing at
   all and the exact search has its turn.
4. Nothing here decides a score. What is found is a set of blocks, which a decision records and a
   replay takes as given; every number about them is computed from the vectors themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, Protocol

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from mnemic.kernel import vectors
from mnemic.kernel.arithmetic import NANO
from mnemic.kernel.vectors import Vector
from mnemic.projections.index import VectorIndex
from mnemic.projections.views import View

Ints = NDArray[np.int64]
Floats = NDArray[np.float32]
Bools = NDArray[np.bool_]

SIZES: Final = (16_384, 49_152)
"""Rows of a small and of a large stretch. With 256 components, a graph takes 3 and 14 seconds of
one core to build, 19 and 57 MB of memory, 2.3 and 7 MB of disk, and .2 and .3 ms to search; .5 ms
where a million rows need 21 and these have more than the processor's caches hold.

Larger ones would be fewer to ask, but who takes one up from its file holds up all other threads for
as long as the library copies it: .5 ms per thousand rows, and a task may wait 50 ms at most."""
BREADTH: Final = 200
"""Rows that a graph keeps in sight while it searches. With 100 of them 2 in 100 of the ten nearest
are missed, with 200 fewer than 1."""
OVERFETCH: Final = 2
"""How many alive rows it is asked for, on average, for each that is wanted."""
SHORTEST: Final = 64
"""The fewest rows that a graph is asked for."""
DEEPEST: Final = 1_000
"""The most: where so few are alive, copying those out and looking at each is quicker."""
WORTH: Final = 2
"""How many times quicker graphs have to be before any are made: they take memory, and work."""
_ENDLESS: Final = 2**24
COPIED: Final = 4
"""What a row costs that is copied out before it is multiplied, in rows multiplied in place."""


class Span(NamedTuple):
    """A stretch of rows."""

    first: int
    end: int
    """One behind the last."""

    @property
    def rows(self) -> int:
        """How many."""
        return self.end - self.first


class Graph(Protocol):
    """Finds near ones among the vectors of one stretch, and may miss some. Never changes."""

    def nearest(self, query: Floats, count: int) -> tuple[Ints, Floats] | None:
        """Return places in the stretch, nearest first, and the products of *query* with them.

        Args:
            query: Whole numbers as floats, of the vectors' dimension.
            count: How many, at most as many as there are.
        Returns:
            None if it cannot find so many.
        """
        ...


@frozen(kw_only=True, eq=False)
class Segment:
    """A stretch of rows that has its graph."""

    span: Span
    graph: Graph


@frozen(kw_only=True)
class Costs:
    """What searching takes on this machine, in nanoseconds."""

    row: float
    """To multiply one row where it lies."""
    search: float
    """To find ``BREADTH`` rows in a graph."""


class Near(Protocol):
    """Says which blocks are probably nearest to a question."""

    def __call__(self, view: View, vector: Vector, pool: Ints) -> Ints | None:
        """Return numbers of blocks, rising; None: look at all of them.

        Args:
            view: Where to look.
            vector: The question's.
            pool: Numbers of the blocks that may be found, rising.
        """
        ...


@frozen(eq=False)
class Recorded:
    """What a search once found; a replay takes it as given."""

    numbers: tuple[int, ...]

    def __call__(self, view: View, vector: Vector, pool: Ints) -> Ints | None:
        """Return it again, as far as it may be found."""
        del view, vector  # it was found on the same view for the same question
        return np.intersect1d(np.array(self.numbers, dtype=np.int64), pool)


@frozen(kw_only=True, eq=False)
class Proximity:
    """An index and the graphs over parts of it, as they are at one time."""

    index: VectorIndex
    segments: tuple[Segment, ...]
    """In the order of their rows; no two share any."""
    costs: Costs | None = None
    """None: the graphs are asked whenever there are any."""

    def __call__(self, view: View, vector: Vector, pool: Ints) -> Ints | None:
        """Return the blocks of *pool* that are probably nearest; None: the exact search is due.

        Only the live view is searched this way: what is asked of the past is answered exactly.
        """
        wanted = view.policy.candidates
        if not (view.live and wanted and len(pool) and view.index is self.index):
            return None
        rows = self.index.rows
        count = max(SHORTEST, -(-OVERFETCH * wanted * rows // len(pool)))
        if count > DEEPEST or not self._pays(rows, len(pool), count):
            return None

        def counts(found: Ints) -> Bools:
            # Asked of the few that were found, not by a mask of all.
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
        """Say whether asking the graphs takes less time than looking at every alive row."""
        if not self.segments or self.costs is None:
            return bool(self.segments)
        covered = sum(segment.span.rows for segment in self.segments)
        searching = len(self.segments) * self.costs.search * max(1.0, count / BREADTH)
        asking = searching + self.costs.row * (rows - covered)
        return asking < self.costs.row * min(rows, COPIED * alive)


def crossover(costs: Costs, sizes: tuple[int, int] = SIZES) -> int:
    """Return from about how many rows on graphs take half the time of looking at all, or less.

    Half a small stretch is taken to have no graph yet.

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
    """Return the stretches that an index with so many rows should have graphs of.

    As many large ones as there is room for, then small ones; the rest is searched exactly.

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
    """Return *segments* with *fresh* in the place of what it covers."""
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
        index: What is searched.
        segments: Graphs of some of it, in the order of their rows.
        query: A quantised vector.
        wanted: How many rows, >= 1.
        count: How many each graph is asked for.
        counts: Says of some rows which of them are alive.
    Returns:
        Fewer than *wanted* if no more are alive; None if a graph may have better ones than it gave.
    """
    extent = index.rows
    question = query.astype(np.float32)
    rows: list[Ints] = []
    products: list[Floats] = []
    unfinished: list[int] = []
    """Which of these came from graphs that have more."""

    def look(first: int, end: int) -> None:
        if first < end:
            found, dots = _stretch(index, question, Span(first, end))
            rows.append(found)
            products.append(dots)

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
    # All in one go: twenty graphs would make twenty small sums.
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
    """Return the places of the nearest rows that are alive, nearest first, ties by row."""
    promising = np.arange(len(rows))
    few = 4 * wanted
    if few < len(rows):
        # Mostly enough of these are alive, and the others need not even be asked.
        least = np.partition(cosines, len(rows) - few)[len(rows) - few]
        promising = np.flatnonzero(cosines >= least)
    alive = promising[counts(rows[promising])]
    if len(alive) < wanted and len(promising) < len(rows):
        alive = np.flatnonzero(counts(rows))
    order = np.lexsort((rows[alive], -cosines[alive]))
    return alive[order][:wanted]


def _stretch(index: VectorIndex, question: Floats, span: Span) -> tuple[Ints, Floats]:
    """Return every row of a stretch with its product."""
    dots = np.vecdot(index.stretch(span.first, span.end), question)
    return np.arange(span.first, span.end), dots
