"""Origin of a text: the zone of its block, its source, who wrote it, and the author it claims."""

from __future__ import annotations

from attrs import frozen

from mnemic.kernel.rendering import TRUSTED, labelled
from mnemic.kernel.results.shape import Result


@frozen(kw_only=True, str=False)
class Origin(Result):
    """Where a text that a result quotes comes from."""

    zone: str
    source: str
    actor: str
    """Who wrote it: the actor that the log names, which a caller cannot choose."""
    author: str | None = None
    """The author that the writer gave."""

    @property
    def mark(self) -> str:
        """What a reader has to know of the text; nothing if it is trusted."""
        if self.zone == TRUSTED:
            return ""
        return f" ({labelled(self.zone)}, written by {labelled(self.actor)})"

    @property
    def summary(self) -> str:
        claims = "" if self.author is None else f", claims {labelled(self.author)}"
        return f"{labelled(self.zone)}, written by {labelled(self.actor)}{claims}"
