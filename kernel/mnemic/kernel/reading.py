"""Protocols for the state that a decision reads.

The projections implement them; the kernel only calls them. Blocks are identified by number (their
place in the order of first learning), since numbers index arrays.

A ``LogRange`` describes a range of the log for a revert: what it changed, and what changed again
later. A value counts as changed if at the end of the range it differed from the value before the
range, and still differs now. Each is mapped to the first later version that changed it again, or
None.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from mnemic.kernel.events import BlocksComposed, EmbedderIdentity, Withdrawal
from mnemic.kernel.model.blocks import BlockColumns, BlockFacts, Fresh, SaidColumns
from mnemic.kernel.model.compositions import LabelFacts
from mnemic.kernel.model.edges import EdgeColumns, EdgeFacts, PendingFacts
from mnemic.kernel.model.filters import Where
from mnemic.kernel.model.identity import BlockId, SessionId
from mnemic.kernel.model.periods import Period
from mnemic.kernel.model.texts import BlockText, Erased
from mnemic.kernel.model.vectors import Vector
from mnemic.kernel.policy import Policy
from mnemic.kernel.timestamps import Instant

if TYPE_CHECKING:
    from mnemic.kernel.statements import Statement

Later: TypeAlias = int | None
Ends: TypeAlias = tuple[int, int]
Ints: TypeAlias = NDArray[np.int64]


class EdgeReading(Protocol):
    """The part of the state that a decision on one edge reads."""

    @property
    def policy(self) -> Policy: ...

    @property
    def highest(self) -> str | None:
        """The writer's zone, see ``decisions.authorization``; None: not limited to a zone."""
        ...

    def number(self, block_id: object) -> int | None:
        """Return the number of a block that was ever learned; None for any other value."""
        ...

    def id(self, number: int) -> BlockId: ...
    def facts(self, number: int) -> BlockFacts: ...
    def zone(self, number: int) -> str: ...
    def edge(self, a: int, b: int) -> EdgeFacts | None: ...
    def edges_of(self, number: int) -> Sequence[EdgeFacts]: ...
    def degree(self, number: int) -> int: ...


class Reading(EdgeReading, Protocol):
    """The state before a command."""

    @property
    def version(self) -> int:
        """Version of the last event of the log, -1 before the first."""
        ...

    @property
    def salt(self) -> bytes: ...
    @property
    def writer(self) -> str | None:
        """The actor that issues the command; None: it is not known."""
        ...

    @property
    def now_us(self) -> int:
        """Wall clock, microseconds since the epoch."""
        ...

    @property
    def embedder(self) -> EmbedderIdentity | None:
        """The embedder in force; None before the first promotion."""
        ...

    @property
    def is_erased(self) -> bool:
        """Whether the whole space has been erased."""
        ...

    def open_sessions(self) -> Mapping[SessionId, int]:
        """Return the open sessions and the versions at which they started."""
        ...

    @property
    def curated_us(self) -> int | None:
        """Active time of the last sweep; None before the first."""
        ...

    @property
    def learned_count(self) -> int:
        """How many blocks were learned by now, archived ones included."""
        ...

    def inbox(self) -> Sequence[int]:
        """Return the blocks in the inbox, oldest first."""
        ...

    def waiting_within(self, zone: str) -> int:
        """Return how many blocks of *zone* and of lower zones are in the inbox."""
        ...

    def number(self, block_id: object) -> int | None:
        """Return the number of a block that was ever learned; None for any other value."""
        ...

    def status(self, number: int) -> int:
        """Return INBOX, ACTIVE, ARCHIVED or QUARANTINED."""
        ...

    def is_quarantined(self, number: int) -> bool:
        """Whether a block is in quarantine, archived or not."""
        ...

    def facts(self, number: int) -> BlockFacts: ...
    def category(self, number: int) -> str: ...
    def period(self, number: int) -> Period: ...
    def tags(self, number: int) -> tuple[str, ...]: ...
    def text(self, number: int) -> BlockText | Erased: ...
    def edge(self, a: int, b: int) -> EdgeFacts | None: ...
    def edges_of(self, number: int) -> Sequence[EdgeFacts]: ...
    def is_linked(self, a: int, b: int) -> bool:
        """Whether two blocks have an edge; cheaper than fetching it."""
        ...

    def degree(self, number: int) -> int: ...
    def is_barred(self, a: int, b: int) -> bool: ...
    def is_pending(self, a: int, b: int) -> bool: ...
    def pending(self) -> Sequence[PendingFacts]: ...

    def linked_among(self, numbers: Sequence[int]) -> Collection[Ends]:
        """Return the pairs of some blocks that have an edge, the lower number first."""
        ...

    def barred_among(self, numbers: Sequence[int]) -> Collection[Ends]:
        """Return the pairs of some blocks that were disconnected, the lower number first."""
        ...

    def staged_among(self, numbers: Sequence[int]) -> Mapping[Ends, Sequence[str]]:
        """Return ``staged_sessions`` of the pairs of some blocks that have any."""
        ...

    def staged_sessions(self, a: int, b: int) -> Sequence[str]:
        """Return the sessions in which a pair without an edge was returned together."""
        ...

    def staged_total(self) -> int:
        """Return how many pairs are staged."""
        ...

    def staging_order(self) -> Iterator[tuple[tuple[int, int], int]]:
        """Yield staged pairs with their number of sessions, in the order of eviction.

        Fewest sessions first, then those staged longest ago, ties by the pair of ids.
        """
        ...

    def was_refreshed(self, a: int, b: int, session: str) -> bool:
        """Whether a recall of this session has refreshed the pair's edge already."""
        ...

    def sources_of(self, number: int) -> set[int]:
        """Return the messages that a block rests on as a fact, erased ones included."""
        ...

    def resting_on(self, messages: Collection[int]) -> tuple[list[int], list[int]]:
        """Return the facts that rest on *messages* alone, and those that rest on others too."""
        ...

    def active(self) -> BlockColumns: ...
    def passing(self, where: Where, numbers: Ints) -> NDArray[np.bool_]:
        """Return which of *numbers* meet a filter, regardless of their status."""
        ...

    def said(self, numbers: Ints) -> SaidColumns:
        """Return when each of *numbers* was last said."""
        ...

    def composition_event(self, composition_id: object) -> BlocksComposed | None: ...
    def label(self, label_version: int) -> LabelFacts | None: ...
    def standing(self) -> EdgeColumns: ...

    def stretch(self, first: int, last: int) -> LogRange:
        """Return what the events from version *first* to *last* changed."""
        ...

    def near(
        self, vectors: Sequence[Vector], categories: Sequence[str], floor: int, *, most: int
    ) -> list[list[tuple[int, int]]]:
        """Return, for each vector, (number, cosine) of active blocks at or above *floor*.

        The *most* best of them, best first, ties by id. Blocks of an exempt category are left out.
        """
        ...

    def rarities(self, numbers: Sequence[int]) -> list[int]:
        """Return how unusual the words of each block were when it was learned, nano-units.

        Facts that extractors made of messages only repeat them: they are not counted before it.
        """
        ...

    def typicality(
        self, vectors: Mapping[int, Vector], embedder: EmbedderIdentity | None = None
    ) -> list[int]:
        """Return how typical each of *vectors* is of the blocks before it, nano-units.

        Facts that extractors made of messages only repeat them: they are not among those before.

        Args:
            vectors: By number: those of blocks that are promoted one after the other.
            embedder: Whose vectors they are; None: of the one in force.
        """
        ...

    def context(self, number: int) -> Sequence[int]:
        """Return the blocks that are matched together with a block's texts, ascending."""
        ...

    def keyed(self, key: str) -> list[int]:
        """Return the blocks that were learned with a key, archived or not, by number.

        In the order in which each was learned last.
        """
        ...

    def statement(self, number: int) -> Statement:
        """Return the text of a block as it is compared; one without words if it is erased."""
        ...

    def restated(self, said: Sequence[Statement]) -> list[list[int]]:
        """Return, for each statement, the active blocks that it may restate, by number.

        They are those with the key of the whole text, or whose first sentence has the key of one
        of its sentences, see ``mnemic.kernel.statements``.
        """
        ...

    def link_candidates(
        self, fresh: Sequence[Fresh], gone: Sequence[int], moment: Instant
    ) -> list[list[tuple[int, int]]]:
        """Return, for each fresh block, its best (number, score), best first, ties by id."""
        ...


@frozen(eq=False, kw_only=True)
class LogRange:
    """What the events from *first* to *last* changed.

    Blocks are named by number, pairs with the lower number first.
    """

    first: int
    last: int
    before: Reading
    """The state before *first*."""
    life: Mapping[int, Later]
    """Status, tags, zone and the like of blocks, but not their vectors."""
    strength: Mapping[int, Later]
    evidence: Mapping[int, Later]
    """Outcomes and reviews."""
    uses: Mapping[int, Later]
    edges: Mapping[Ends, Later]
    pending: Mapping[Ends, Later]
    """Includes connections that became pending in the range and became an edge after it."""
    barred: Mapping[Ends, Later]
    labels: Mapping[int, Later]
    """By the version that set the label."""
    policy: Mapping[str, Later]
    """Under the one key ``policy``."""
    spoken: Mapping[int, int]
    """Blocks of ``life`` that later events refer to explicitly, with the first such version: by an
    outcome, or by a connection that an agent or an outcome made or renewed and that exists."""
    successions: tuple[tuple[int, int], ...]
    """Blocks that were superseded at the end of the range and not before it, and by which."""
    succeeded: frozenset[int]
    """Blocks of ``life`` that were superseded after the range."""
    unvectored: frozenset[int]
    """Blocks of ``life`` that would have no vector of the current embedder if made active again."""


@frozen(eq=False, kw_only=True)
class LogSelection(LogRange):
    """What selected events changed, and the blocks whose texts they learned.

    ``before`` gives each value as it was before the selected events that changed it last; other
    events may lie between those of two values. A value that another event changed since is mapped
    to the version of that event, as in a range; evidence and uses add up, so that the share of the
    selected events in them is known all the same.
    """

    life_then: Mapping[int, int]
    """Blocks of ``life`` that can be restored, and a version that has the value to restore."""
    strength_then: Mapping[int, int]
    evidence_then: Mapping[int, int]
    edges_then: Mapping[Ends, int]
    pending_then: Mapping[Ends, int]
    barred_then: Mapping[Ends, int]
    withdrawn: tuple[Withdrawal, ...]
    """What selected events added to evidence and uses that cannot be restored; by block."""
    reviews: Mapping[int, int]
    """Blocks of which selected reviews stay, and the first later review."""
