"""Results of ``composed_graph``, with the field names in camel case that its clients know.

The operation returns plain values; these classes only describe them (a test compares the two).

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
    """The tool that composed it."""
    mode: str
    """The tool's mode."""
    query: str | None
    """The purpose of the composition."""
    queryHash: str | None
    """The digest by which the tool knows the query."""
    confidence: float | None
    """Confidence in the outcome. Range: [0, 1]."""
    status: str | None
    """A status defined by the tool."""
    outputPreview: str | None
    """The beginning of the output."""
    metadata: Mapping[str, Any]
    """A small object; empty where there is none."""


@frozen(kw_only=True)
class ComposedMember:
    """One block's part in a composition, as recorded."""

    eventId: str
    """The composition."""
    memoryId: str
    """The block."""
    role: str
    """``primary``, ``supporting``, ``contradicting``, ``superseded`` or ``related``."""
    rank: int
    """Position, from 0."""
    trust: float | None
    """As given by the caller. Range: [0, 1]."""
    score: float | None
    """As given by the caller."""
    preview: str | None
    """The beginning of its text; None once the text is erased."""
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
    """Who set the label."""
    confidenceDelta: float | None
    """Change of the confidence. Range: [-1, 1]."""
    notes: str | None
    """Notes on the label."""
    metadata: Mapping[str, Any]
    """A small object; empty where there is none."""


@frozen(kw_only=True)
class ComposedLane:
    """A composition with its members and labels."""

    event: ComposedEvent
    """The composition."""
    members: tuple[ComposedMember, ...]
    """By rank, role and id."""
    outcomes: tuple[ComposedOutcome, ...]
    """Labels in force, the latest first."""


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
    """A pair that was never composed: a suggestion, not a finding."""

    firstId: str
    """One block."""
    secondId: str
    """The other one."""
    score: float
    """In mode ``classic`` at least 1.6; in mode ``default`` from 0 to 1."""
    noveltyScore: float
    """How rarely the two were composed with anything."""
    bridgeScore: float
    """How distant the two are, and how strongly they are still related."""
    trustScore: float
    """How well both are retained."""
    outcomeScoreAdjustment: float
    """Contribution of the labels of their compositions. Range: [-0.8, 0.5]."""
    sharedTags: tuple[str, ...]
    """Tags of both."""
    boundaryTags: tuple[str, ...]
    """Tags of either that mark a boundary."""
    sharedTerms: tuple[str, ...]
    """Words of both, the most specific first, at most 8."""
    priorOutcomes: tuple[str, ...]
    """Kinds of labels on compositions of either."""
    outcomeSignal: str
    """Summary of those labels in one word."""
    firstNodeType: str
    """Category of the first."""
    secondNodeType: str
    """Category of the second."""
    firstPreview: str
    """The beginning of the first."""
    secondPreview: str
    """The beginning of the second."""
    reason: str
    """Why the pair looks promising."""
    compositionQuestion: str
    """What to answer before any further step; never empty."""
    cap: float | None = None
    """In mode ``default``: the lowest ceiling of the two trust zones. Range: [0, 1]."""
    limitedBy: str | None = None
    """In mode ``default``: the block that sets the cap, if one does."""


@frozen(kw_only=True)
class ComposedGraphAnswer:
    """Result of ``composed_graph``. Its fields depend on the action."""

    action: str
    """The requested action."""
    events: tuple[ComposedEvent, ...] | None = None
    """For ``recent`` and ``memory``: the latest first."""
    event: ComposedEvent | None = None
    """For ``get``."""
    members: tuple[ComposedMember, ...] | None = None
    """For ``get``."""
    outcomes: tuple[ComposedOutcome, ...] | None = None
    """For ``get``: labels in force, the latest first."""
    memoryId: str | None = None
    """For ``memory`` and ``neighbors``: the given block."""
    neighbors: tuple[ComposedNeighbor, ...] | None = None
    """For ``neighbors``: most often composed first."""
    candidates: tuple[NeverComposed, ...] | None = None
    """For ``never_composed``: best first."""
    alreadyComposedLanes: tuple[ComposedLane, ...] | None = None
    """For ``bounty_mode``: what was composed."""
    neverComposedLanes: tuple[NeverComposed, ...] | None = None
    """For ``bounty_mode``: what was not, best first."""
    closedDoors: tuple[ComposedLane, ...] | None = None
    """For ``bounty_mode``: labelled as closed."""
    duplicateRiskLanes: tuple[ComposedLane, ...] | None = None
    """For ``bounty_mode``: labelled as a duplicate risk."""
    needsPocLanes: tuple[ComposedLane, ...] | None = None
    """For ``bounty_mode``: labelled as waiting for a proof."""
    topWeirdCombinations: tuple[NeverComposed, ...] | None = None
    """For ``bounty_mode``: at most 3 pairs that were never composed."""
    guardrails: tuple[str, ...] | None = None
    """For ``bounty_mode``: limits of what a lane means."""
    eventId: str | None = None
    """For ``label``: the labelled composition."""
    outcome: ComposedOutcome | None = None
    """For ``label``: the label that was set."""
