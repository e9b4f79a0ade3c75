"""What a decision may ask about the state it decides on.

The read side implements this; the kernel only asks. Blocks are spoken of by number (their place
in the order of first learning), since numbers index arrays.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from mnemic.kernel.events import BlocksComposed
from mnemic.kernel.identity import BlockId, CompositionId
from mnemic.kernel.policy import Policy
from mnemic.kernel.texts import BlockText, Erased
from mnemic.kernel.vectors import Vector

if TYPE_CHECKING:
    from mnemic.kernel.stretch import Stretch

Ints = NDArray[np.int64]

INBOX, ACTIVE, ARCHIVED = range(3)
STATUSES = ("inbox", "active", "archived")
ORIGINS = ("similarity", "co_retrieval", "outcome", "agent")
"""Every way in which an edge can come about, by number."""
NO_ANCHOR = np.iinfo(np.int64).min
"""Stands in columns where an edge has no anchor."""


@frozen
class BlockFacts:
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


@frozen
class EdgeFacts:
    """One standing edge as a decision sees it."""

    source: int
    target: int
    relation: str
    origin: str
    weight: int
    anchor_us: int | None
    count: int

    def other(self, number: int) -> int:
        """Return the end that is not *number*."""
        return self.target if number == self.source else self.source


@frozen
class PendingFacts:
    """One connection that waits for room."""

    source: int
    target: int
    relation: str
    weight: int


@frozen
class LabelFacts:
    """One label of a composition as a decision sees it."""

    composition_id: CompositionId
    label: str
    counts: bool
    """Whether it was not retracted."""


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
    """Whether it may not fade, by tag and zone."""
    ceiling: Ints
    """Of its zone."""


@frozen(eq=False)
class EdgeColumns:
    """The standing edges as arrays, one entry each, by rising pair."""

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


@frozen
class Moment:
    """When a command is decided."""

    active_us: int
    recorded_us: int


class EdgeReading(Protocol):
    """As much of the state as a decision on one edge asks for."""

    @property
    def policy(self) -> Policy: ...

    @property
    def highest(self) -> str | None:
        """The zone of whoever commands, see ``decisions.clearance``; None: they reach all."""
        ...

    def number(self, block_id: object) -> int | None:
        """Return the number of a block that was ever learned; whatever else has none."""
        ...

    def id(self, number: int) -> BlockId: ...
    def facts(self, number: int) -> BlockFacts: ...
    def edge(self, a: int, b: int) -> EdgeFacts | None: ...
    def edges_of(self, number: int) -> Sequence[EdgeFacts]: ...
    def degree(self, number: int) -> int: ...


class Reading(EdgeReading, Protocol):
    """The state before a command."""

    @property
    def salt(self) -> bytes: ...
    @property
    def curated_us(self) -> int | None:
        """Active time of the last sweep; None before the first."""
        ...

    def number(self, block_id: object) -> int | None:
        """Return the number of a block that was ever learned; whatever else has none."""
        ...

    def status(self, number: int) -> int:
        """Return INBOX, ACTIVE or ARCHIVED."""
        ...

    def facts(self, number: int) -> BlockFacts: ...
    def text(self, number: int) -> BlockText | Erased: ...
    def edge(self, a: int, b: int) -> EdgeFacts | None: ...
    def edges_of(self, number: int) -> Sequence[EdgeFacts]: ...
    def is_linked(self, a: int, b: int) -> bool:
        """Whether an edge stands between two blocks; cheaper than asking for it."""
        ...

    def degree(self, number: int) -> int: ...
    def is_barred(self, a: int, b: int) -> bool: ...
    def is_pending(self, a: int, b: int) -> bool: ...
    def pending(self) -> Sequence[PendingFacts]: ...

    def staged_sessions(self, a: int, b: int) -> Sequence[str]:
        """Return the sessions in which a pair without an edge was returned together."""
        ...

    def staged_total(self) -> int:
        """Return how many pairs are staged."""
        ...

    def staging_order(self) -> Iterator[tuple[tuple[int, int], int]]:
        """Yield staged pairs with their number of sessions, in the order in which they would go.

        Fewest sessions first, then what was staged longest ago, ties by the pair of ids.
        """
        ...

    def was_refreshed(self, a: int, b: int, session: str) -> bool:
        """Whether a recall of this session has refreshed the pair's edge already."""
        ...

    def active(self) -> BlockColumns: ...
    def composition_event(self, composition_id: object) -> BlocksComposed | None: ...
    def label(self, label_version: int) -> LabelFacts | None: ...
    def standing(self) -> EdgeColumns: ...

    def stretch(self, first: int, last: int) -> Stretch:
        """Return what the events from version *first* to *last* changed."""
        ...

    def near(
        self, vectors: Sequence[Vector], categories: Sequence[str], floor: int
    ) -> list[list[tuple[int, int]]]:
        """Return, for each vector, (number, cosine) of active blocks at or above *floor*.

        Best first, ties by id. Blocks of an exempt category are left out.
        """
        ...

    def link_candidates(
        self, fresh: Sequence[Fresh], gone: Sequence[int], moment: Moment
    ) -> list[list[tuple[int, int]]]:
        """Return, for each fresh block, its best (number, score), best first, ties by id."""
        ...


@frozen(eq=False)
class Fresh:
    """A block that is about to be promoted, with its vector and the tags it will have."""

    number: int
    vector: Vector
    category: str
    tags: tuple[str, ...]
