"""Records of the plain state: blocks, edges, pending connections, compositions and labels."""

from __future__ import annotations

from typing import Any

import attrs
from attrs import define, field

from mnemic.kernel.events import BlocksComposed, CompositionLabelled, FactsExtracted
from mnemic.kernel.model.identity import BlockId

Pair = tuple[BlockId, BlockId]


@define(kw_only=True)
class PlainBlock:
    """One block. Evidence, confidence and rates are nano-units, times microseconds."""

    number: int
    """Its place in the order of first learning."""
    base: str = "inbox"
    """``inbox``, ``active`` or ``archived``, in quarantine or not."""
    quarantined: bool = False
    reason: str | None = None
    """Why it is archived."""
    successor: BlockId | None = None
    content: str | None = None
    """None once erased."""
    tags: tuple[str, ...] = ()
    """Declared, inferred and taken over; sorted."""
    author: str | None = None
    thread: str | None = None
    metadata: str | None = None
    summary: str | None = None
    category: str = ""
    source: str = ""
    zone: str = ""
    confidence: int = 0
    created_at_us: int | None = None
    """The given date, or when it was learned; None if unknown."""
    expires_at_us: int | None = None
    valid_from_us: int | None = None
    valid_until_us: int | None = None
    """When its fact holds: from the one until before the other; None: an open end."""
    learned_version: int = 0
    """Version at which it was last learned; the inbox is in this order."""
    said_version: int = 0
    """Version at which it was last learned or restated."""
    learned_us: int = 0
    """Active time at which it was last learned."""
    actor: str = ""
    """Who wrote its text: the actor that last learned it."""
    session: str | None = None
    """Session in which it was learned."""
    reinforced_us: int = 0
    """Active time of the last reinforcement."""
    reinforcements: int = 0
    rate: int = 0
    """Decay per active hour; 0 until it is promoted."""
    tier_rate: int = 0
    """Decay by its tags and category alone, without penalties."""
    alpha: int = 0
    """Outcome evidence for it, including the prior of the current policy."""
    beta: int = 0
    retrievals: int = 0
    reviews: list[tuple[int, int, int]] = field(factory=list)
    """Version, active time and rating of each; retention follows from them."""
    frames: dict[str, int] = field(factory=dict)
    """Number of recalls that returned it, by name of the frame."""
    vector: bytes | None = field(default=None, repr=False)
    """Packed int16; None before promotion and once erased."""
    typicality: int = -1
    """As recorded with the vector, nano-units; -1: it was not."""

    @property
    def status(self) -> str:
        """Its status: ``quarantined`` for a block in quarantine, unless it is archived."""
        return "quarantined" if self.quarantined and self.base != "archived" else self.base


STRENGTH = ("reinforced_us", "reinforcements", "rate")
"""Fields of a block that a reinforcement or a penalty changes."""
_COUNTED = {"alpha", "beta", "retrievals", "reviews", "frames"}
LIFE = tuple(
    name
    for name in attrs.fields_dict(PlainBlock)
    if name not in {*_COUNTED, "number", "quarantined", "vector", "typicality", *STRENGTH}
)
"""Descriptive fields of a block."""


@define(kw_only=True)
class PlainEdge:
    """The one edge of an unordered pair, with the direction in which it was asserted."""

    source: BlockId
    target: BlockId
    relation: str
    weight: int
    origin: str
    anchor_us: int | None
    count: int = 0
    note: str | None = None


@define(kw_only=True)
class PlainPending:
    """A pending connection."""

    source: BlockId
    target: BlockId
    relation: str
    weight: int
    note: str | None = None


@define(kw_only=True)
class PlainLabel:
    """A label of a composition."""

    event: CompositionLabelled
    active_us: int
    retracted: int | None = None
    """Version of the retraction."""


@define(kw_only=True)
class PlainComposition:
    """Blocks that were used together, kept as history: nothing is ever replaced."""

    version: int
    event: BlocksComposed
    labels: dict[int, PlainLabel] = field(factory=dict)
    """By version, retracted ones included."""


def pair(a: BlockId, b: BlockId) -> Pair:
    """Return two ids in canonical order."""
    return (a, b) if a < b else (b, a)


def plain(value: Any) -> Any:
    """Return *value* with every record as a dict and every dict sorted by its keys."""
    if attrs.has(type(value)):
        return {f.name: plain(getattr(value, f.name)) for f in attrs.fields(type(value))}
    if isinstance(value, dict):
        return {key: plain(value[key]) for key in sorted(value)}
    if isinstance(value, set | frozenset):
        return sorted(value)
    if isinstance(value, list):
        return [plain(entry) for entry in value]
    return value


def without_texts(event: FactsExtracted) -> FactsExtracted:
    """Return what a state keeps of an extraction: neither its raw answer nor refused texts."""
    refused = tuple(attrs.evolve(each, text=None) for each in event.refused)
    return attrs.evolve(event, answer=None, refused=refused)
