"""What verbs on edges answer, and edges themselves."""

from __future__ import annotations

from attrs import frozen

from mnemic.kernel.identity import BlockId, short
from mnemic.kernel.results.shape import Result


@frozen(kw_only=True, str=False)
class Edge(Result):
    """One edge as a view shows it."""

    source_id: BlockId
    target_id: BlockId
    relation: str
    weight: float
    effective_weight: float
    """At the view's hour."""
    origin: str
    anchor_hour: float | None = None
    reinforcement_count: int = 0
    note: str | None = None

    @property
    def summary(self) -> str:
        return (
            f"{short(self.source_id)} -{self.relation}-> {short(self.target_id)} "
            f"(weight {self.weight:.2f}, now {self.effective_weight:.2f}, {self.origin})"
        )


@frozen(kw_only=True, str=False)
class DisplacedEdge(Result):
    from_id: BlockId
    to_id: BlockId
    relation: str
    weight: float

    @property
    def summary(self) -> str:
        ends = f"{short(self.from_id)}..{short(self.to_id)}"
        return f"{self.relation} {ends} (weight {self.weight:.2f})"


@frozen(kw_only=True, str=False)
class ConnectResult(Result):
    source_id: BlockId
    target_id: BlockId
    relation: str
    weight: float
    """As stored."""
    action: str
    """``created``, ``reinforced``, ``updated``, ``skipped`` or ``deferred``."""
    note: str | None = None
    displaced_edge: DisplacedEdge | None = None
    """The first of ``displaced_edges``."""
    displaced_edges: tuple[DisplacedEdge, ...] = ()
    deferred_note: str | None = None
    warnings: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        ends = f"{short(self.source_id)}…→{short(self.target_id)}…"
        line = f"{self.action.title()} {self.relation} edge: {ends} (weight={self.weight:.2f})"
        for displaced in self.displaced_edges:
            line += f". Displaced {displaced.relation} edge to fit the degree cap"
        return line


@frozen(kw_only=True, str=False)
class DisconnectResult(Result):
    source_id: BlockId
    target_id: BlockId
    action: str
    """``removed``, ``not_found`` or ``guarded``."""
    removed_relation: str | None = None
    removed_weight: float | None = None

    @property
    def summary(self) -> str:
        ends = f"{short(self.source_id)}…→{short(self.target_id)}…"
        if self.action == "removed":
            return f"Removed {self.removed_relation or 'pending'} edge: {ends}"
        if self.action == "guarded":
            return f"Edge not removed: {ends} is of another relation than guard_relation."
        return f"No edge found between {ends}"
