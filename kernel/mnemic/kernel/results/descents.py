"""Results about the origin of what memory holds: descent and quarantine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import field, frozen

from mnemic.kernel.model.identity import BlockId, short
from mnemic.kernel.results.shape import Listing, Result, plural


@frozen(kw_only=True, str=False)
class Descendant(Result):
    """Something that descends from the selected writes, and the path from them to it."""

    kind: str
    """``block``, ``edge``, ``decision``, ``outcome``, ``composition``, ``label`` or ``policy``."""
    id: str
    """Its id; of an edge the ids of its ends with ``--`` between, of an outcome ``o`` and its
    version."""
    version: int
    """The event that made it descend from them."""
    path: tuple[str, ...]
    """Why it descends, step by step, beginning with the selected write."""
    current: bool = True
    """Whether it exists at the view: an edge that was removed since does not, nor does a block that
    is archived, a label that was retracted, or a policy that was replaced."""

    @property
    def summary(self) -> str:
        name = "--".join(map(short, self.id.split("--"))) if self.kind == "edge" else self.id
        gone = "" if self.current else " (no longer)"
        return f"{self.kind} {name}{gone}: {' -> '.join(self.path)}"


@frozen(kw_only=True, str=False)
class Descent(Listing, Result):
    """Everything that descends from the selected writes, in the order of the log."""

    selector: Mapping[str, Any]
    """The selection, in canonical form."""
    version: int
    """The version of the view."""
    totals: Mapping[str, int] = field(factory=dict)
    """Number of descendants by kind, by name, those left out of the list included."""
    items: tuple[Descendant, ...] = ()
    next_after: int | None = None
    """Pass as *after* for the next page; None on the last."""

    @property
    def summary(self) -> str:
        if not self.totals:
            return "Nothing descends from that."
        counts = ", ".join(plural(count, kind) for kind, count in self.totals.items())
        return f"{counts} by version {self.version}."


@frozen(kw_only=True, str=False)
class QuarantineResult(Result):
    """Blocks that were taken out of recall, or released."""

    action: str
    """``quarantined``, ``released``, or ``nothing`` if all of them were already so."""
    block_ids: tuple[BlockId, ...] = ()
    """The blocks that it changed, sorted."""
    selected: int = 0
    """How many blocks the selector matches, those unchanged included."""
    version: int | None = None
    """Version of the event; None if none was written."""

    @property
    def summary(self) -> str:
        if self.action == "nothing":
            return f"Nothing to do: {plural(self.selected, 'block')} selected."
        return f"{plural(len(self.block_ids), 'block')} {self.action}."
