"""Results of ``reference`` as tables and lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from mnemic.adapters.cli.invocation.context import plain, shown
from mnemic.adapters.cli.render.tables import (
    said,
    short_id,
    table,
    words,
    written,
)

if TYPE_CHECKING:
    from mnemic.kernel.results import (
        Contradiction,
        DeepReference,
        ReferencedBlock,
    )

STYLES = {
    "primary": "bold",
    "contradicting": "yellow",
    "superseded": "dim",
}


def referenced(result: DeepReference) -> Iterator[RenderableType]:
    """Draw an answer: its confidence, a recommendation, the evidence, and counter-evidence."""
    yield Text.assemble((result.status.replace("_", " "), "bold"), f"  {result.confidence:.2f}")
    yield Text(plain(result.guidance))
    if result.evidence:
        yield _evidence(result.evidence)
    if result.claim_conflicts:
        yield Text("Against the claim:", style="yellow")
        yield _lines((each.block, f"{each.kind}: {each.detail}") for each in result.claim_conflicts)
    if result.contradictions:
        yield Text("Cannot both be true:", style="yellow")
        yield _pairs(result.contradictions)
    if result.superseded:
        yield Text("Out of date:", style="dim")
        yield _lines((each.block, f"by {each.superseded_by[:8]}") for each in result.superseded)
    if result.evolution:
        yield Text("From old to new:")
        yield _lines((each, (each.created_at or "no date")[:10]) for each in result.evolution)
    yield Text(_footer(result), style="dim")


def _evidence(blocks: Iterable[ReferencedBlock]) -> Table:
    drawn = table("id", "part", "trust", "relevance", "memory", right=("trust", "relevance"))
    for block in blocks:
        drawn.add_row(
            short_id(block.id),
            Text(block.role, style=STYLES.get(block.role, "")),
            f"{block.trust:.2f}",
            f"{block.relevance:.2f}",
            Group(words(block.preview), Text(said(block), style="dim")),
        )
    return drawn


def _lines(rows: Iterable[tuple[ReferencedBlock, str]]) -> RenderableType:
    drawn = Table(box=None, pad_edge=False, show_header=False)
    for block, about in rows:
        line = words(block.preview)
        if by := written(block):
            line = line.append(f" ({by})", style="dim")
        drawn.add_row(short_id(block.id), Text(shown(about), style="dim"), line)
    return Padding(drawn, (0, 0, 0, 2))


def _pairs(found: Iterable[Contradiction]) -> RenderableType:
    drawn = Table(box=None, pad_edge=False, show_header=False)
    for each in found:
        drawn.add_row(
            short_id(each.stronger.id),
            short_id(each.weaker.id),
            each.kind,
            Text(shown(each.detail), style="dim"),
        )
    return Padding(drawn, (0, 0, 0, 2))


def _footer(result: DeepReference) -> str:
    record = result.composition_id or result.composition_write_status.replace("_", " ")
    looked = f"{result.memories_analyzed} considered, {result.activation_expanded} through an edge"
    where = f"version {result.version} at {result.hour:.3f} active hours"
    return f"{record} · {result.intent.replace('_', ' ')} · {looked} · {where}"
