"""Analogies as result objects."""

from __future__ import annotations

from mnemic.kernel.errors import FieldRefused
from mnemic.kernel.model.texts import BlockText, placeholder
from mnemic.kernel.results import Analogy, unit
from mnemic.projections.frontier import structure
from mnemic.projections.frontier.structure import Likeness
from mnemic.projections.view import View
from mnemic.projections.view.block_results import find, origin

LIMIT_MAX = 1000


def analogies(view: View, block_id: str, *, limit: int) -> tuple[Analogy, ...]:
    """Return the blocks that are similar to one in structure but not in content, best first.

    Raises:
        BlockNotFound: It had not been learned at the view's version.
        FieldRefused: The limit is out of range.
    """
    if type(limit) is not int or not 1 <= limit <= LIMIT_MAX:
        raise FieldRefused(f"limit must be from 1 to {LIMIT_MAX}, got {limit!r}", field="limit")
    found = structure.analogies(view, find(view, block_id), limit=limit)
    return tuple(_shown(view, other, likeness) for other, likeness in found)


def compare(view: View, block_id: str, other_id: str) -> Analogy:
    """Return how one block compares with another.

    Raises:
        BlockNotFound: One had not been learned at the view's version.
    """
    other = find(view, other_id)
    return _shown(view, other, structure.compare(view, find(view, block_id), other))


def _shown(view: View, number: int, likeness: Likeness) -> Analogy:
    text = view.text(number)
    return Analogy(
        block_id=view.id(number),
        content=text.content if isinstance(text, BlockText) else placeholder(text),
        **origin(view, number),
        structural_fit=None if likeness.fit is None else unit(likeness.fit),
        surface_similarity=unit(likeness.surface),
        quadrant=likeness.quadrant,
        score=unit(likeness.score),
        shared_structure=likeness.shared,
    )
