"""Result of ``analogies``: similarity of blocks in structure and in surface."""

from __future__ import annotations

from attrs import frozen

from mnemic.kernel.model.identity import BlockId
from mnemic.kernel.rendering import cited, render_line
from mnemic.kernel.results.shape import Result


@frozen(kw_only=True, str=False)
class Analogy(Result):
    """A block compared with another one: structural fit and surface similarity."""

    block_id: BlockId
    content: str
    zone: str
    source: str
    actor: str
    """Who wrote it: the actor that the log names, which a caller cannot choose."""
    author: str | None = None
    """The author that the writer gave."""
    structural_fit: float | None
    """Similarity of their typed relations, [0, 1]; None if one of them has none."""
    surface_similarity: float
    """Similarity of texts and vectors, [0, 1]."""
    quadrant: str
    """``literal``, ``analogy``, ``appearance`` or ``anomaly``."""
    score: float
    """fit · (1 - surface)."""
    shared_structure: tuple[str, ...] = ()
    """Relations, and paths of two relations, that both blocks have."""

    @property
    def summary(self) -> str:
        fit = "no structure" if self.structural_fit is None else f"fit {self.structural_fit:.2f}"
        line = cited(
            self.block_id, self.content, zone=self.zone, actor=self.actor, author=self.author
        )
        return f"{self.quadrant}: {fit}, surface {self.surface_similarity:.2f} {render_line(line)}"
