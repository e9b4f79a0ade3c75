"""How blocks compare in structure and in looks."""

from __future__ import annotations

from attrs import frozen

from mnemic.kernel.identity import BlockId, short
from mnemic.kernel.results.shape import Result


@frozen(kw_only=True, str=False)
class Analogy(Result):
    """A block beside another one: how alike they stand, and how alike they look."""

    block_id: BlockId
    content: str
    structural_fit: float | None
    """In the web of typed relations, [0, 1]; None where one has none."""
    surface_similarity: float
    """Of words and vectors, [0, 1]."""
    quadrant: str
    """``literal``, ``analogy``, ``appearance`` or ``anomaly``."""
    score: float
    """fit · (1 - surface)."""
    shared_structure: tuple[str, ...] = ()
    """Relations, and paths of two, that both stand in."""

    @property
    def summary(self) -> str:
        fit = "no structure" if self.structural_fit is None else f"fit {self.structural_fit:.2f}"
        return (
            f"{short(self.block_id)} {self.quadrant}: {fit}, "
            f"surface {self.surface_similarity:.2f} {self.content}"
        )
