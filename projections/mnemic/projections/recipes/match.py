"""How well the blocks that were looked at match a question."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from mnemic.kernel.arithmetic import exp_each, nano_each
from mnemic.projections.order import ranked
from mnemic.projections.present import places
from mnemic.projections.views import View

Ints = NDArray[np.int64]

EXPONENT_MAX = 50.0
"""Beyond it the curve is flat to the last nano-unit."""


@frozen(kw_only=True)
class Curve:
    """From a strength to a relevance, by what stands beside it. Nano-units."""

    reference: int
    """The strength that is half relevant."""
    width: int
    """> 0; how much more makes it about three quarters."""

    def __call__(self, strengths: Ints) -> Ints:
        steps = (strengths - self.reference) / float(self.width)
        return nano_each(1.0 / (1.0 + exp_each(np.clip(-steps, -EXPONENT_MAX, EXPONENT_MAX))))


@frozen(kw_only=True, eq=False)
class Match:
    """One row per block that was looked at, nano-units in [0, 1].

    Every candidate is among them, and so is whatever says how the others compare.
    """

    pool: Ints
    """Numbers of the eligible blocks, rising."""
    numbers: Ints
    """Those that were looked at, rising."""
    parts: tuple[Ints, ...]
    """Evidence of each kind, in the order of the recipe's ``parts``."""
    strength: Ints
    """Their weighted sum."""
    searches: tuple[Ints, ...]
    """Orders in which candidates are sought, one value per block; 0 finds nothing."""
    curve: Curve | None = None
    """None: the strength is the relevance."""
    near: Ints | None = None
    """What an approximate search found; None: every vector was looked at."""
    widened: Callable[[Ints], Match] | None = None
    """Looks at more blocks of the pool; None: all were looked at."""

    def over(self, numbers: Ints) -> Match:
        """Return this match with some blocks of the pool looked at, too.

        What it says of others stays the same, and so does the curve.
        """
        if self.widened is None or (self.places(numbers) >= 0).all():
            return self
        return self.widened(numbers)

    def places(self, numbers: Ints) -> Ints:
        """Return where some blocks stand among those that were looked at; -1: nowhere."""
        return places(self.numbers, numbers)

    def relevance(self, places: Ints) -> Ints:
        """Return the relevance of the blocks at *places*."""
        strengths: Ints = self.strength[places]
        return strengths if self.curve is None else self.curve(strengths)

    def candidates(self, view: View) -> Ints:
        """Return the best blocks of each search, rising."""
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
