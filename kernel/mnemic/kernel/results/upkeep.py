"""Results of outcomes and sweeps."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import field, frozen

from mnemic.kernel.model.identity import BlockId
from mnemic.kernel.rendering import labelled
from mnemic.kernel.results.edges import DisplacedEdge
from mnemic.kernel.results.shape import Refusal, Result, plural, reasons


@frozen(kw_only=True, str=False)
class OutcomeResult(Result):
    updated: tuple[BlockId, ...]
    signal: float
    weight: float
    reinforced: int = 0
    penalised: int = 0
    edges_created: int = 0
    edges_confirmed: int = 0
    edges_without_room: tuple[tuple[BlockId, BlockId], ...] = ()
    displaced_edges: tuple[DisplacedEdge, ...] = ()
    refused: tuple[Refusal, ...] = ()

    @property
    def summary(self) -> str:
        parts = [f"{plural(len(self.updated), 'block')} scored {self.signal:.2f}"]
        if self.edges_created:
            parts.append(f"{plural(self.edges_created, 'edge')} created")
        if self.edges_confirmed:
            parts.append(f"{plural(self.edges_confirmed, 'edge')} confirmed")
        if self.penalised:
            parts.append(f"{self.penalised} penalised")
        if self.refused:
            parts.append(f"{len(self.refused)} refused ({reasons(self.refused)})")
        return f"Outcome: {', '.join(parts)}."


ESCALATION = 0.25
"""Share of the edges removed in one sweep above which the summary warns. Source: seed 004."""


@frozen(kw_only=True, str=False)
class CurateResult(Result):
    archived: int = 0
    by_rule: Mapping[str, int] = field(factory=dict)
    """How many of them by each rule of retention, by its name."""
    edges_pruned: int = 0
    edges_decayed: int = 0
    total_edges_after: int = 0
    reinforced: int = 0
    constitutional_reinforced: int = 0
    pending_admitted: int = 0

    @property
    def summary(self) -> str:
        parts = [
            f"{count} {words}"
            for count, words in (
                (self.archived, f"archived{self._rules()}"),
                (self.edges_pruned, "edges pruned"),
                (self.edges_decayed, f"edges decayed ({self.total_edges_after} remain)"),
                (self.pending_admitted, "pending admitted"),
                (self.reinforced, "reinforced"),
                (self.constitutional_reinforced, "constitutional reinforced"),
            )
            if count
        ]
        if not parts:
            return "Curated: nothing required."
        return f"Curated: {', '.join(parts)}.{self._advice()}"

    def _rules(self) -> str:
        by = ", ".join(f"{count} by {labelled(rule)}" for rule, count in self.by_rule.items())
        return by and f" ({by})"

    def _advice(self) -> str:
        if not self.edges_decayed:
            return ""
        gone = self.edges_pruned + self.edges_decayed
        before = gone + self.total_edges_after - self.pending_admitted
        if gone / max(before, 1) > ESCALATION:
            return (
                " The graph shrank by more than a quarter: "
                "run consolidate(relink=True) now to rebuild it."
            )
        return " Tip: consolidate(relink=True) finds new edges for blocks in use."
