"""Trust zones: whatever is put together is no stronger than its weakest provenance.

A zone has a ceiling (policy), and a set scores at most the lowest ceiling of its members. How far a
member can be trusted now is its ceiling times what is remembered of it; a set is trusted as far as
its weakest member. Re-zoning is an event, so the past keeps its zones.

Source: low-water-mark integrity (Biba); reference composed-graph 9.3; specs/frontier.toml, rule
"zones".
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from mnemic.kernel.arithmetic import NANO, product_each
from mnemic.projections.retention import retrievability
from mnemic.projections.views import View

Ints = NDArray[np.int64]


@frozen(kw_only=True, eq=False)
class Trust:
    """How far each of some blocks can be trusted, as columns of nano-units."""

    ceiling: Ints
    """Of its zone."""
    held: Ints
    """The same times its retrievability now."""


@frozen(kw_only=True)
class Weakest:
    """What the weakest members make of a set."""

    cap: int
    """The lowest ceiling."""
    trust: int
    """The least of ceiling times retrievability."""
    limited_by: int | None
    """Place of the member that sets the cap; None where every zone is trusted in full."""


def trust(view: View, numbers: Ints) -> Trust:
    """Return how far each block can be trusted at the view's hour."""
    ceiling = view.ceilings(numbers)
    return Trust(ceiling=ceiling, held=product_each(ceiling, retrievability(view, numbers)))


def weakest(given: Trust, places: Sequence[int], ids: Sequence[str]) -> Weakest:
    """Return what limits a set.

    Args:
        given: Of all blocks at hand.
        places: The members.
        ids: Of the members, in the same order; they decide between equals.
    """
    ranked = sorted(
        (int(given.ceiling[place]), int(given.held[place]), name, place)
        for place, name in zip(places, ids, strict=True)
    )
    cap, _, _, place = ranked[0]
    return Weakest(
        cap=cap,
        trust=min(held for _, held, _, _ in ranked),
        limited_by=place if cap < NANO else None,
    )
