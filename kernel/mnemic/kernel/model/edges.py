"""An edge as decisions and queries see it: its origin, its facts, all edges as columns."""

from __future__ import annotations

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from mnemic.kernel.values import Value

Ints = NDArray[np.int64]

ORIGINS = ("similarity", "co_retrieval", "outcome", "agent")
"""Every origin of an edge; columns store the index."""
NO_ANCHOR = np.iinfo(np.int64).min
"""Column value of an edge without an anchor."""


@frozen
class EdgeFacts(Value):
    """One existing edge as a decision sees it."""

    source: int
    target: int
    relation: str
    origin: str
    weight: int
    anchor_us: int | None
    count: int

    def other(self, number: int) -> int:
        """Return the end of the edge that is not *number*."""
        return self.target if number == self.source else self.source


@frozen
class PendingFacts(Value):
    """One pending connection, waiting for a free place under the degree cap."""

    source: int
    target: int
    relation: str
    weight: int


@frozen(eq=False)
class EdgeColumns:
    """The existing edges as arrays, one entry each, in ascending order of the pair."""

    low: Ints
    high: Ints
    weight: Ints
    count: Ints
    anchor_us: Ints
    """``NO_ANCHOR`` where an edge has none."""
    agent: NDArray[np.bool_]
    """Whether an agent asserted it."""
    tier_low: Ints
    """Tier rates of the ends."""
    tier_high: Ints
