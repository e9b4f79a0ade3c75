"""Results of the composition ledger: compositions, their members and labels."""

from __future__ import annotations

from typing import Any

from attrs import frozen

from mnemic.kernel.model.identity import (
    BlockId,
    CompositionId,
    LabelId,
    short,
)
from mnemic.kernel.rendering import escaped, labelled, quoted
from mnemic.kernel.results.shape import Result, plural


@frozen(kw_only=True, str=False)
class CompositionMember(Result):
    """One member of a composition, as it was at the time."""

    block_id: BlockId
    role: str
    rank: int
    trust: float | None = None
    score: float | None = None
    preview: str | None = None
    """None once the block's text is erased."""
    metadata: dict[str, Any] | None = None

    @property
    def summary(self) -> str:
        return f"{short(self.block_id)} {self.role} {escaped(self.preview or '')}".rstrip()


@frozen(kw_only=True, str=False)
class CompositionLabel(Result):
    """A label of a composition, with its source and notes."""

    label_id: LabelId
    composition_id: CompositionId
    label: str
    source: str
    labelled_at: str
    """ISO 8601, UTC."""
    hour: float
    confidence_delta: float | None = None
    notes: str | None = None
    metadata: dict[str, Any] | None = None

    @property
    def summary(self) -> str:
        return f"{self.label_id} {self.label} by {labelled(self.source)}"


@frozen(kw_only=True, str=False)
class Composition(Result):
    """Blocks that were used together in one piece of reasoning, and the labels of its outcome."""

    id: CompositionId
    version: int
    hour: float
    created_at: str
    """ISO 8601, UTC."""
    tool: str
    mode: str
    query: str | None = None
    query_hash: str | None = None
    confidence: float | None = None
    status: str | None = None
    output_preview: str | None = None
    metadata: dict[str, Any] | None = None
    consume: str = "all"
    members: tuple[CompositionMember, ...] = ()
    """By rank, role and id."""
    labels: tuple[CompositionLabel, ...] = ()
    """Labels that count, in the order in which they were set."""

    @property
    def summary(self) -> str:
        said = ", ".join(label.label for label in self.labels) or "no label"
        asked = f" for {quoted(self.query)}" if self.query else ""
        head = f"{labelled(self.id)} {labelled(self.tool)}"
        return f"{head}: {plural(len(self.members), 'member')}{asked}; {said}."


@frozen(kw_only=True, str=False)
class ComposeResult(Result):
    """Result of one ``compose``."""

    composition_id: CompositionId
    action: str
    """``created``, or ``duplicate`` if an identical composition has the same id already."""
    version: int
    member_ids: tuple[BlockId, ...]

    @property
    def summary(self) -> str:
        ids = ", ".join(short(block) for block in self.member_ids)
        return f"Composition {labelled(self.composition_id)} {self.action}: {ids}."


@frozen(kw_only=True, str=False)
class LabelResult(Result):
    """Result of ``label`` or ``retract_label``."""

    label_id: LabelId
    composition_id: CompositionId
    label: str
    action: str
    """``labelled``, ``retracted``, or ``unchanged`` when it was retracted already."""

    @property
    def summary(self) -> str:
        name = labelled(self.composition_id)
        return f"{name} {self.label}: {self.action} ({self.label_id})."


@frozen(kw_only=True, str=False)
class ComposedNeighbour(Result):
    """A block that was composed with another one."""

    block_id: BlockId
    composed_count: int
    """Number of distinct compositions that contain both."""
    latest_id: CompositionId
    latest_at: str
    """ISO 8601, UTC."""

    @property
    def summary(self) -> str:
        times = plural(self.composed_count, "composition")
        return f"{short(self.block_id)} in {times}, last {labelled(self.latest_id)}"
