"""Similarities of blocks as tables and lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from mnemic.adapters.cli.invocation.context import shown
from mnemic.adapters.cli.render.tables import (
    pairs,
    short_id,
    table,
    words,
)
from mnemic.kernel.rendering import labelled

if TYPE_CHECKING:
    from mnemic.kernel.results import (
        Analogy,
        Block,
        Edge,
    )

KINDS = {
    "literal": "similar in structure and in content",
    "analogy": "similar in structure, not in content",
    "appearance": "similar in content, not in structure",
    "anomaly": "alike in neither",
}
"""What the four quadrants mean."""


def analogies(found: Iterable[Analogy]) -> Table:
    """Draw analogous blocks, best first."""
    drawn = table(
        "id", "kind", "fit", "surface", "score", "memory", right=("fit", "surface", "score")
    )
    for each in found:
        shared = Text(shown(", ".join(each.shared_structure)), style="dim")
        drawn.add_row(
            short_id(each.block_id),
            each.quadrant,
            _fit(each),
            f"{each.surface_similarity:.2f}",
            f"{each.score:.3f}",
            Group(words(each.content), shared) if each.shared_structure else words(each.content),
        )
    return drawn


def compared(found: Analogy) -> Iterator[RenderableType]:
    """Draw a comparison of two blocks."""
    yield Text.assemble((found.quadrant, "bold"), f": {KINDS[found.quadrant]}")
    yield pairs(
        (
            ("structure", _fit(found)),
            ("content", f"{found.surface_similarity:.2f}"),
            ("score", f"{found.score:.3f}"),
            ("both have", ", ".join(found.shared_structure)),
        )
    )


def _fit(found: Analogy) -> str:
    return "none" if found.structural_fit is None else f"{found.structural_fit:.2f}"


def near_duplicates(found: Iterable[tuple[Block, Block, float]]) -> Table:
    """Draw near-duplicate pairs, one above the other."""
    drawn = table("cosine", "id", "memory", right=("cosine",))
    for one, other, cosine in found:
        drawn.add_row(
            f"{cosine:.3f}",
            Text("\n").join(map(short_id, (one.id, other.id))),
            Group(_line(one), _line(other)),
        )
    return drawn


def _line(block: Block) -> Text:
    """Return the text of a block on one line, so that it stays next to its id."""
    said = words(block.content, lost=block.lost)
    said.no_wrap, said.overflow = True, "ellipsis"
    return said


def pending(found: Iterable[Edge]) -> Table:
    """Draw pending connections, oldest first."""
    drawn = table("from", "to", "relation", "weight", "note", right=("weight",))
    for edge in found:
        drawn.add_row(
            short_id(edge.source_id),
            short_id(edge.target_id),
            Text(labelled(edge.relation)),
            f"{edge.weight:.2f}",
            Text(shown(edge.note or "")),
        )
    return drawn
