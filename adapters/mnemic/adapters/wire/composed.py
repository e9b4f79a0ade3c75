"""What ``composed_graph`` answers, as its clients know it: names in camel case, as they stand.

The verb answers plain values; this only describes them (a test holds the two together).

Source: reference composed-graph 1.3.
"""
# ruff: noqa: N815 - the names are those of the clients

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import frozen


@frozen(kw_only=True)
class ComposedEvent:
    """A composition without its members."""

    id: str
    """Of the composition."""
    createdAt: str
    """When it was recorded; ISO 8601, UTC."""
    tool: str
    """What composed it."""
    mode: str
    """How."""
    query: str | None
    """What for."""
    queryHash: str | None
    """The digest of the query that its tool knows it by."""
    confidence: float | None
    """In the outcome. Range: [0, 1]."""
    status: str | None
    """A word of the tool's own."""
    outputPreview: str | None
    """How what came of it begins."""
    metadata: Mapping[str, Any]
    """A small object; empty where there is none."""


@frozen(kw_only=True)
class ComposedMember:
    """One block's part in a composition, as it was then."""

    eventId: str
    """The composition."""
    memoryId: str
    """The block."""
    role: str
    """``primary``, ``supporting``, ``contradicting``, ``superseded`` or ``related``."""
    rank: int
    """Its place, from 0."""
    trust: float | None
    """As the caller put it. Range: [0, 1]."""
    score: float | None
    """As the caller put it."""
    preview: str | None
    """How it began; None once its words are erased."""
    metadata: Mapping[str, Any]
    """A small object; empty where there is none."""


@frozen(kw_only=True)
class ComposedOutcome:
    """One label."""

    id: str
    """Of the label."""
    eventId: str
    """The composition."""
    outcomeType: str
    """One of the fifteen labels."""
    labeledAt: str
    """ISO 8601, UTC."""
    labelSource: str
    """Who said so."""
    confidenceDelta: float | None
    """What it does to confidence. Range: [-1, 1]."""
    notes: str | None
    """What there is to say about it."""
    metadata: Mapping[str, Any]
    """A small object; empty where there is none."""


@frozen(kw_only=True)
class ComposedLane:
    """A composition with all that belongs to it."""

    event: ComposedEvent
    """The composition."""
    members: tuple[ComposedMember, ...]
    """By rank, role and id."""
    outcomes: tuple[ComposedOutcome, ...]
    """Labels that count, the latest first."""


@frozen(kw_only=True)
class ComposedNeighbor:
    """A block that was composed with another one."""

    memoryId: str
    """The block."""
    composedCount: int
    """Distinct compositions that hold both, at least 1."""
    latestEventAt: str
    """When the last of them was recorded; ISO 8601, UTC."""


@frozen(kw_only=True)
class NeverComposed:
    """A pair that was never composed: a question, no finding."""

    firstId: str
    """One block."""
    secondId: str
    """The other one."""
    score: float
    """In mode ``classic`` at least 1.6; in mode ``default`` from 0 to 1."""
    noveltyScore: float
    """How little the two were composed with anything."""
    bridgeScore: float
    """How far apart they stand, and what still ties them."""
    trustScore: float
    """How well they are remembered."""
    outcomeScoreAdjustment: float
    """What labels of their compositions add. Range: [-0.8, 0.5]."""
    sharedTags: tuple[str, ...]
    """Tags of both."""
    boundaryTags: tuple[str, ...]
    """Tags of either that mark a boundary."""
    sharedTerms: tuple[str, ...]
    """Words of both, the most specific first, at most 8."""
    priorOutcomes: tuple[str, ...]
    """Kinds of labels on compositions of either."""
    outcomeSignal: str
    """What those labels come to, in a word."""
    firstNodeType: str
    """Category of the first."""
    secondNodeType: str
    """Category of the second."""
    firstPreview: str
    """How the first begins."""
    secondPreview: str
    """How the second begins."""
    reason: str
    """Why the pair looks worth it."""
    compositionQuestion: str
    """What to answer before doing anything; never empty."""
    cap: float | None = None
    """In mode ``default``: the lowest ceiling of the two trust zones. Range: [0, 1]."""
    limitedBy: str | None = None
    """In mode ``default``: the block that sets the cap, if one does."""


@frozen(kw_only=True)
class ComposedGraphAnswer:
    """What ``composed_graph`` answers. Which fields there are hangs on the action."""

    action: str
    """The action that was asked for."""
    events: tuple[ComposedEvent, ...] | None = None
    """Of ``recent`` and ``memory``: the latest first."""
    event: ComposedEvent | None = None
    """Of ``get``."""
    members: tuple[ComposedMember, ...] | None = None
    """Of ``get``."""
    outcomes: tuple[ComposedOutcome, ...] | None = None
    """Of ``get``: labels that count, the latest first."""
    memoryId: str | None = None
    """Of ``memory`` and ``neighbors``: the block that was asked about."""
    neighbors: tuple[ComposedNeighbor, ...] | None = None
    """Of ``neighbors``: most often composed first."""
    candidates: tuple[NeverComposed, ...] | None = None
    """Of ``never_composed``: best first."""
    alreadyComposedLanes: tuple[ComposedLane, ...] | None = None
    """Of ``bounty_mode``: what was composed."""
    neverComposedLanes: tuple[NeverComposed, ...] | None = None
    """Of ``bounty_mode``: what was not, best first."""
    closedDoors: tuple[ComposedLane, ...] | None = None
    """Of ``bounty_mode``: labelled as closed."""
    duplicateRiskLanes: tuple[ComposedLane, ...] | None = None
    """Of ``bounty_mode``: labelled as a duplicate risk."""
    needsPocLanes: tuple[ComposedLane, ...] | None = None
    """Of ``bounty_mode``: labelled as waiting for a proof."""
    topWeirdCombinations: tuple[NeverComposed, ...] | None = None
    """Of ``bounty_mode``: at most 3 of what was never composed."""
    guardrails: tuple[str, ...] | None = None
    """Of ``bounty_mode``: what a lane is not."""
    eventId: str | None = None
    """Of ``label``: the composition that was labelled."""
    outcome: ComposedOutcome | None = None
    """Of ``label``: what was set."""
