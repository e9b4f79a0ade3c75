"""Trust zones: a combination is no stronger than its weakest provenance.

A zone has a ceiling (policy), and a set scores at most the lowest ceiling of its members. The trust
in a member is its ceiling times its current retrievability; the trust in a set is that of
its weakest member. Re-zoning is an event, so the past keeps its zones.

Source: low-water-mark integrity (Biba); reference composed-graph 9.3; specs/frontier.toml, rule
"zones".
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from mnemic.kernel.numeric.arithmetic import NANO, product_each
from mnemic.kernel.values import Value
from mnemic.projections.retrieval.retention import retrievability
from mnemic.projections.view import View

Ints = NDArray[np.int64]


@frozen(kw_only=True, eq=False)
class Trust:
    """Trust in each of some blocks, as columns of nano-units."""

    ceiling: Ints
    """Ceiling of its zone."""
    held: Ints
    """The ceiling times its current retrievability."""


@frozen(kw_only=True)
class Weakest(Value):
    """Limits of a set by its weakest members."""

    cap: int
    """The lowest ceiling."""
    trust: int
    """The least of ceiling times retrievability."""
    limited_by: int | None
    """Position of the member that sets the cap; None if every zone is fully trusted."""


def trust(view: View, numbers: Ints) -> Trust:
    """Return the trust in each block at the view's hour."""
    ceiling = view.ceilings(numbers)
    return Trust(ceiling=ceiling, held=product_each(ceiling, retrievability(view, numbers)))


def weakest(given: Trust, places: Sequence[int], ids: Sequence[str]) -> Weakest:
    """Return the limits of a set.

    Args:
        given: Trust in all blocks of the field.
        places: The members.
        ids: Ids of the members, in the same order; they decide between equals.
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
