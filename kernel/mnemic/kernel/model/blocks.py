"""A block as decisions and queries see it: its status, its facts, and all blocks as columns."""

from __future__ import annotations

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from mnemic.kernel.model.identity import BlockId
from mnemic.kernel.model.periods import ALWAYS, Period
from mnemic.kernel.model.vectors import Vector
from mnemic.kernel.values import Value

Ints = NDArray[np.int64]

INBOX, ACTIVE, ARCHIVED, QUARANTINED = range(4)
"""QUARANTINED: in quarantine and not archived; INBOX or ACTIVE again after its release."""
STATUSES = ("inbox", "active", "archived", "quarantined")


@frozen
class BlockFacts(Value):
    """One block as a decision sees it. Rates, evidence and confidence in nano-units."""

    number: int
    id: BlockId
    status: int
    category: str
    tags: tuple[str, ...]
    source: str
    zone: str
    confidence: int
    tier_rate: int
    rate: int
    reinforced_us: int
    alpha: int
    beta: int
    retrievals: int
    expires_us: int | None
    """Wall clock, microseconds since the epoch."""
    said_us: int | None = None
    """When it was last said; None: unknown. Wall clock."""
    period: Period = ALWAYS
    """When its fact holds."""


@frozen(eq=False)
class BlockColumns:
    """The active blocks as arrays, one entry each, by rising number."""

    numbers: Ints
    reinforced_us: Ints
    reinforcements: Ints
    rate: Ints
    tier_rate: Ints
    alpha: Ints
    beta: Ints
    confidence: Ints
    retrievals: Ints
    expires_us: Ints
    """``scoring.UNKNOWN`` where a block does not expire."""
    constitutional: NDArray[np.bool_]
    """Whether the block is protected from archiving, by tag and zone."""
    ceiling: Ints
    """Score ceiling of the block's zone."""


@frozen(eq=False)
class Fresh:
    """A block that is about to be promoted, with its vector and the tags it will have."""

    number: int
    vector: Vector
    category: str
    tags: tuple[str, ...]


@frozen(eq=False, kw_only=True)
class SaidColumns:
    """When blocks were last said (learned or restated): the events of that, as columns."""

    version: Ints
    active_us: Ints
    recorded_us: Ints
