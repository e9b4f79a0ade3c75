"""Events of maintenance sweeps and reverts."""

from __future__ import annotations

from collections import Counter

from attrs import frozen

from mnemic.kernel.events.edges import Pair
from mnemic.kernel.model.identity import BlockId, PolicyId
from mnemic.kernel.model.texts import Erased, Remark
from mnemic.kernel.values import Value


@frozen(kw_only=True)
class Archival(Value):
    block_id: BlockId
    reason: str
    """``decayed`` or ``expired``."""
    rule: str | None = None
    """Name of the policy's retention rule that it expired by; None: by its own expiry."""


@frozen(kw_only=True)
class Admission(Value):
    """A pending connection that became an edge."""

    source: BlockId
    target: BlockId


@frozen(kw_only=True)
class Curated(Value):
    """The effects of one sweep, applied in the order of the fields."""

    archived: tuple[Archival, ...] = ()
    pruned: tuple[Pair, ...] = ()
    decayed: tuple[Pair, ...] = ()
    admitted: tuple[Admission, ...] = ()
    constitutional: tuple[BlockId, ...] = ()
    reinforced: tuple[BlockId, ...] = ()
    edges_after: int = 0

    @property
    def by_rule(self) -> dict[str, int]:
        """How many blocks each rule of retention archived, by its name."""
        return dict(Counter(each.rule for each in self.archived if each.rule is not None))


@frozen(kw_only=True)
class Objection(Value):
    """Something that a revert left unchanged, and why."""

    what: str
    """``life``, ``strength``, ``evidence``, ``reviews``, ``uses``, ``edge``, ``pending``,
    ``barred``, ``label`` or ``policy``."""
    of: tuple[str, ...]
    """The block, the pair, the label or the policy."""
    why: str
    """``touched`` later, ``archived`` (an end is), ``no-room``, ``linked`` (the pair has an edge),
    ``erased``, or ``no-vector`` (of the embedder in force)."""
    version: int | None = None
    """Version of the event that touched it."""


@frozen(kw_only=True)
class Withdrawal(Value):
    """Evidence and retrievals of a block that no longer count; what was added since still does."""

    block_id: BlockId
    alpha: int = 0
    """Outcome evidence, nano-units; subtracted."""
    beta: int = 0
    retrievals: int = 0
    outcomes: tuple[int, ...] = ()
    """Versions of the outcomes that no longer count for the block."""


@frozen(kw_only=True)
class Reverted(Value):
    """The changes of a range of versions were reverted, unless a later event had changed them too.

    Each value is restored to what it was at the version before *first*; a block that had not been
    learned by then has no such value. Applied in this order: the policy; removal of edges, pending
    connections and bars; blocks, of which those that are archived by it lose their edges and
    pending connections; return of edges, pending connections and bars; labels; withdrawals.
    """

    first: int
    """First version of the range."""
    last: int
    reason: Remark | Erased | None = None
    policy_id: PolicyId | None = None
    policy: str | None = None
    """Canonical JSON of the policy that is restored."""
    unlinked: tuple[Pair, ...] = ()
    """Edges that are removed."""
    cancelled: tuple[Pair, ...] = ()
    """Pending connections that are removed."""
    unbarred: tuple[Pair, ...] = ()
    forgotten: tuple[BlockId, ...] = ()
    """Archived, since they were learned in the range."""
    lives: tuple[BlockId, ...] = ()
    """Blocks whose status, tags, zone and the like are restored."""
    strength: tuple[BlockId, ...] = ()
    evidence: tuple[BlockId, ...] = ()
    """Outcomes and reviews."""
    uses: tuple[BlockId, ...] = ()
    linked: tuple[Pair, ...] = ()
    """Edges that are restored."""
    deferred: tuple[Pair, ...] = ()
    """Pending connections that are restored, at the end of the queue, in this order."""
    barred: tuple[Pair, ...] = ()
    retracted: tuple[int, ...] = ()
    """Labels that no longer count, by version."""
    recounted: tuple[int, ...] = ()
    """Labels that count again, by version."""
    left: tuple[Objection, ...] = ()
    withdrawn: tuple[Withdrawal, ...] = ()
    selected: bool = False
    """Whether selected events of the range were reverted, and not all of them."""
