"""Events of edges between blocks, and the parts that events of other kinds share."""

from __future__ import annotations

from attrs import frozen

from mnemic.kernel.model.identity import BlockId
from mnemic.kernel.model.texts import Erased, Remark
from mnemic.kernel.values import Value

Pair = tuple[BlockId, BlockId]


@frozen(kw_only=True)
class Link(Value):
    """An automatic edge that was formed."""

    source: BlockId
    target: BlockId
    weight: int
    """Nano-units, [0, 1]."""
    displaced: tuple[Pair, ...] = ()
    relation: str | None = None
    """None: that of its kind, such as ``similar`` for a promoted block."""


@frozen(kw_only=True)
class BlocksRelinked(Value):
    """``consolidate(relink=True)`` found edges for blocks that had few."""

    links: tuple[Link, ...]


@frozen(kw_only=True)
class Matched(Value):
    """The blocks that two queries were matched with, and the confidence of each match."""

    recipe: str
    """Name of the matching method, such as ``match-1``."""
    source: BlockId
    target: BlockId
    source_confidence: int
    """Nano-units, [0, 1]."""
    target_confidence: int


@frozen(kw_only=True)
class EdgeConnected(Value):
    """An agent connected two blocks. Holds the resulting edge, direction included."""

    source: BlockId
    target: BlockId
    relation: str
    weight: int
    action: str
    """``created``, ``reinforced`` or ``updated``."""
    origin: str = "agent"
    count: int = 0
    """Reinforcements so far."""
    note: Remark | Erased | None = None
    """The new note; None keeps the previous one."""
    displaced: tuple[Pair, ...] = ()
    matched: Matched | None = None
    """When the ends were named by queries."""


@frozen(kw_only=True)
class EdgeDeferred(Value):
    """A connection at a full degree cap that displaces nothing: it is pending until a curate."""

    source: BlockId
    target: BlockId
    relation: str
    weight: int
    note: Remark | Erased | None = None
    matched: Matched | None = None
    """When the ends were named by queries."""


@frozen(kw_only=True)
class EdgeDisconnected(Value):
    """The pair's edge is removed, its pending connection cancelled, automatic edges barred."""

    source: BlockId
    target: BlockId
    relation: str | None = None
    """Relation of the removed edge; None when there was only a pending connection."""
    weight: int | None = None
    reason: Remark | Erased | None = None
