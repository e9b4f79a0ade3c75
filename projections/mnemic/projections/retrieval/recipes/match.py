"""Match of the scored blocks to a question."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from mnemic.kernel.numeric.arithmetic import exp_each, nano_each
from mnemic.projections.storage.order import ranked
from mnemic.projections.storage.sorted_arrays import among, places
from mnemic.projections.view import View

Ints = NDArray[np.int64]

Grade = Callable[[Ints, tuple[Ints, ...]], tuple[Ints, ...]]
"""From scored blocks and their parts to the parts that are needed for ranked blocks only."""

EXPONENT_MAX = 50.0
"""Beyond it the curve is flat to the last nano-unit."""


@frozen(kw_only=True)
class Curve:
    """Maps a strength to a relevance, relative to other blocks. Nano-units."""

    reference: int
    """The strength whose relevance is a half."""
    width: int
    """> 0; this much above the reference gives about three quarters."""

    def __call__(self, strengths: Ints) -> Ints:
        steps = (strengths - self.reference) / float(self.width)
        return nano_each(1.0 / (1.0 + exp_each(np.clip(-steps, -EXPONENT_MAX, EXPONENT_MAX))))


@frozen(kw_only=True, eq=False)
class Match:
    """One row per scored block, nano-units in [0, 1].

    Every candidate is among them, and so is every block that the relevance of others depends on.
    """

    pool: Ints
    """Numbers of the eligible blocks, ascending."""
    numbers: Ints
    """Those that were scored, ascending."""
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
    widened: Callable[[Ints], Match] | None = None
    """Scores more blocks of the pool; None: all are scored."""
    statistics: tuple[int, ...] = ()
    """Word statistics of the question, see ``RecallRecorded``; none by recipe ``recall-1``."""
    grade: Grade | None = None
    """Computes the last of the recipe's ``parts``; None: they are all in ``parts``."""

    passage: Callable[[int], tuple[int, int]] | None = None
    """From a block to the place of its best passage, from 0, and how many it has; None: texts are
    not cut."""

    def over(self, numbers: Ints) -> Match:
        """Return this match extended by some blocks of the pool.

        The values of other blocks stay the same, and so does the curve.
        """
        if self.widened is None or among(self.numbers, numbers).all():
            return self
        return evolve(self.widened(numbers), grade=self.grade, passage=self.passage)

    def rows(self, places: Ints) -> tuple[Ints, ...]:
        """Return every part of the recipe for the scored blocks at *places*."""
        parts = tuple(part[places] for part in self.parts)
        return parts if self.grade is None else (*parts, *self.grade(self.numbers[places], parts))

    def places(self, numbers: Ints) -> Ints:
        """Return the position of some blocks among the scored ones; -1 if absent."""
        return places(self.numbers, numbers)

    def relevance(self, places: Ints) -> Ints:
        """Return the relevance of the blocks at *places*."""
        strengths: Ints = self.strength[places]
        return strengths if self.curve is None else self.curve(strengths)

    def candidates(self, view: View) -> Ints:
        """Return the best blocks of each search, ascending."""
        found = [self._best(view, values) for values in self.searches]
        return view.union(*found)

    def _best(self, view: View, values: Ints) -> Ints:
        """Return the blocks with the greatest positive values, ties by id."""
        count = view.policy.candidates
        found = np.flatnonzero(values > 0)
        if not count or not len(found):
            return self.pool[:0]
        numbers = self.numbers[found]
        best: Ints = numbers[ranked(values[found], numbers, view.state.catalogue.ids, k=count)]
        return best


def nth_best(values: Ints, rank: int, floor: int) -> int:
    """Return the value at *rank*, from 1 for the greatest; *floor* if that is more.

    With fewer values than *rank* it is *floor*.
    """
    if not 0 < rank <= len(values):
        return floor
    place = len(values) - rank
    return max(floor, int(np.partition(values, place)[place]))
