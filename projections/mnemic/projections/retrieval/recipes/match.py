"""Match of the scored blocks to a question."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from mnemic.kernel.numeric.arithmetic import logistic_nano_each
from mnemic.kernel.values import Value
from mnemic.projections.storage.order import best_of, kth_greatest
from mnemic.projections.storage.sorted_arrays import among, places
from mnemic.projections.view import View
from mnemic.projections.view.active_columns import ActiveColumns, At

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

Grade = Callable[[At, tuple[Ints, ...]], tuple[Ints, ...]]
"""From scored blocks and their parts to the parts that are needed for ranked blocks only."""

BestPassage = Callable[[int], tuple[int, int]]
"""From a block to the place of its best passage, from 0, and how many it has."""


@frozen(kw_only=True)
class Curve(Value):
    """Maps a strength to a relevance, relative to other blocks. Nano-units."""

    reference: int
    """The strength whose relevance is a half."""
    width: int
    """> 0; this much above the reference gives about three quarters."""

    def __call__(self, strengths: Ints) -> Ints:
        return logistic_nano_each((strengths - self.reference) / float(self.width))


@frozen(kw_only=True, eq=False)
class Match:
    """One row per scored block, nano-units in [0, 1].

    Every candidate is among them, and so is every block that the relevance of others depends on.
    """

    columns: ActiveColumns
    pool: Ints
    """Numbers of the eligible blocks, ascending."""
    at: At
    """Places of those that were scored."""
    parts: tuple[Ints, ...]
    """Evidence of each kind, in the order of the recipe's ``parts``."""
    strength: Ints
    """Their weighted sum."""
    searches: tuple[Ints, ...]
    """Orders in which candidates are selected, one value per block; 0 is never selected."""
    curve: Curve | None = None
    """None: the strength is the relevance."""
    near: Ints | None = None
    """Blocks found by an approximate search; None: the search was exact."""
    widened: Callable[[At], Match] | None = None
    """Scores more blocks of the pool; None: all are scored."""
    statistics: tuple[int, ...] = ()
    """Word statistics of the question, see ``RecallRecorded``; none by recipe ``recall-1``."""
    grade: Grade | None = None
    """Computes the last of the recipe's ``parts``; None: they are all in ``parts``."""

    passage: BestPassage | None = None
    """None: texts are not cut."""

    @property
    def numbers(self) -> Ints:
        """Numbers of the blocks that were scored, ascending."""
        return self.columns.numbers_at(self.at)

    def over(self, at: Ints) -> Match:
        """Return this match extended by the blocks of the pool at some places.

        The values of other blocks stay the same, and so does the curve.
        """
        if self.widened is None or isinstance(self.at, slice) or among(self.at, at).all():
            return self
        return self.widened(at)

    def index(self, at: Ints) -> Ints:
        """Return the position among the scored blocks of those at some places; -1 if absent."""
        return at if isinstance(self.at, slice) else places(self.at, at)

    def rows(self, positions: Ints) -> tuple[Ints, ...]:
        """Return every part of the recipe for the scored blocks at *positions*."""
        parts = tuple([part[positions] for part in self.parts])
        if self.grade is None:
            return parts
        at = positions if isinstance(self.at, slice) else self.at[positions]
        return (*parts, *self.grade(at, parts))

    def places(self, numbers: Ints) -> Ints:
        """Return the position of some blocks among the scored ones; -1 if absent."""
        return places(self.numbers, numbers)

    def relevance(self, positions: Ints) -> Ints:
        """Return the relevance of the scored blocks at *positions*."""
        strengths: Ints = self.strength[positions]
        return strengths if self.curve is None else self.curve(strengths)

    def candidates(self, view: View) -> Bools:
        """Return the best blocks of each search as a mask, see ``ActiveColumns.mask``."""
        count, ids, numbers = view.policy.candidates, view.state.catalogue.ids, self.numbers
        chosen = np.zeros(len(numbers), dtype=np.bool_)
        for values in self.searches:
            chosen[best_of(values, numbers, ids, k=count)] = True
        marked = np.zeros(self.columns.count + 1, dtype=np.bool_)
        marked[:-1][self.at] = chosen
        return marked


def nth_best(values: Ints, rank: int, floor: int) -> int:
    """Return the value at *rank*, from 1 for the greatest; *floor* if that is more.

    With fewer values than *rank* it is *floor*.
    """
    if not 0 < rank <= len(values):
        return floor
    return max(floor, kth_greatest(values, rank))
