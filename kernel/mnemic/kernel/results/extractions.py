"""Results of a re-extraction: what changes if messages are read again, and its adoption."""

from __future__ import annotations

from attrs import frozen

from mnemic.kernel.model.identity import BlockId, DecisionId
from mnemic.kernel.results.shape import Result, plural


@frozen(kw_only=True, str=False)
class FactChange(Result):
    """A fact that is gained, lost, or replaced by another one."""

    before_id: BlockId | None = None
    """The block that held it; None: it is gained."""
    before: str | None = None
    """Its text; None also once that is erased."""
    after_id: BlockId | None = None
    """The block that holds it; None: it is lost."""
    after: str | None = None

    @property
    def summary(self) -> str:
        if self.before_id is None:
            return f"+ {self.after}"
        return f"- {self.before}" if self.after_id is None else f"~ {self.before} -> {self.after}"


@frozen(kw_only=True, str=False)
class ChangedDecision(Result):
    """A recorded recall whose answer would have other blocks."""

    decision_id: DecisionId
    query: str | None = None
    entered: tuple[BlockId, ...] = ()
    left: tuple[BlockId, ...] = ()

    @property
    def summary(self) -> str:
        asked = "" if self.query is None else f" {self.query!r}"
        return f"{self.decision_id}{asked}: {len(self.entered)} in, {len(self.left)} out"


@frozen(kw_only=True, str=False)
class ReExtractResult(Result):
    """Result of ``re_extract``: what another extraction on a fork would change."""

    space: str
    """The fork."""
    base_version: int
    """The last version that it shares with the original."""
    extractor: str
    model: str = ""
    prompt: str = ""
    status: str
    """``done``, ``partial``, ``failed`` or ``skipped``, as of ``add``."""
    read: int
    """Messages read again on the fork, by this call and earlier ones."""
    unread: int
    """Messages left; the same call continues with them."""
    gained: tuple[FactChange, ...] = ()
    lost: tuple[FactChange, ...] = ()
    changed: tuple[FactChange, ...] = ()
    refused_count: int = 0
    """Facts that were not accepted."""
    decisions: tuple[ChangedDecision, ...] = ()
    """Recorded recalls that would have other blocks."""
    decisions_compared: int = 0
    decisions_left_out: int = 0
    """Those that cannot be answered again, such as for erased texts."""
    problems: tuple[str, ...] = ()
    """What went wrong, in words, each once."""

    @property
    def summary(self) -> str:
        parts = [
            f"{plural(self.read, 'message')} read again by {self.extractor} in {self.space!r}",
            f"{len(self.gained)} gained, {len(self.lost)} lost, {len(self.changed)} changed",
            f"{len(self.decisions)} of {plural(self.decisions_compared, 'decision')} otherwise",
        ]
        if self.unread:
            parts.append(f"{plural(self.unread, 'message')} unread")
        return "; ".join([*parts, *self.problems]) + "."


@frozen(kw_only=True, str=False)
class AdoptExtractionResult(Result):
    """Result of ``adopt_extraction``: what became of a re-extraction in the original space."""

    space: str
    """The fork."""
    action: str
    """``adopted``, or ``nothing`` if all of it is here already."""
    version: int | None = None
    """The last version that was written; None: nothing was."""
    gained: tuple[FactChange, ...] = ()
    lost: tuple[FactChange, ...] = ()
    changed: tuple[FactChange, ...] = ()
    refused_count: int = 0
    """Facts that were not accepted, on the fork or here."""

    @property
    def summary(self) -> str:
        if self.action == "nothing":
            return f"Nothing of {self.space!r} is left to adopt."
        return (
            f"Adopted {self.space!r} at version {self.version}: {len(self.gained)} gained, "
            f"{len(self.lost)} lost, {len(self.changed)} changed."
        )
