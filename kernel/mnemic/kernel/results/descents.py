"""Results about the origin of what memory holds: messages and facts, descent and quarantine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import field, frozen

from mnemic.kernel.model.identity import BlockId, DecisionId, short
from mnemic.kernel.results.blocks import LearnResult
from mnemic.kernel.results.shape import Listing, Refusal, Result, plural


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


@frozen(kw_only=True, str=False)
class Quotation(Result):
    """Words of a message that a fact rests on."""

    message_id: BlockId
    text: str | None
    """None once the message is erased."""
    start: int
    """First character of it in the message, from 0."""
    end: int
    """The character after its last."""

    @property
    def summary(self) -> str:
        said = "[erased]" if self.text is None else f"“{self.text}”"
        return f"{said} ({short(self.message_id)})"


@frozen(kw_only=True, str=False)
class FactResult(Result):
    """A fact that an extractor found, and on what it rests."""

    block_id: BlockId
    content: str | None
    """None once it is erased."""
    status: str
    """Status of the block: ``inbox``, ``active``, ``archived`` or ``quarantined``."""
    action: str
    """``created``, ``restated``, ``reactivated`` or ``duplicate``, as of ``learn``."""
    quotes: tuple[Quotation, ...]
    relation: str
    """``same``, ``updates``, ``contradicts`` or ``unrelated``: what the extractor said."""
    other_id: BlockId | None
    """The block that the relation is with."""
    effect: str
    """``revised``, ``contradicts``, ``restated`` or ``none``: what was done about it."""
    extractor: str
    model: str
    version: int
    """Version of the event of the extraction."""

    @property
    def summary(self) -> str:
        rests = ", ".join(each.summary for each in self.quotes)
        done = "" if self.effect == "none" else f", {self.effect} {short(self.other_id or '')}"
        return f"{short(self.block_id)} {self.content or '[erased]'} <- {rests}{done}"


@frozen(kw_only=True, str=False)
class RefusedFactResult(Result):
    """A fact that an extractor proposed and that was not accepted."""

    reason: str
    """A code, such as ``number-not-in-quote``."""
    detail: str
    text: str | None
    """Its beginning; None once a message that it belongs to is erased, or if it is not kept."""
    message_ids: tuple[BlockId, ...]

    @property
    def summary(self) -> str:
        return f"refused ({self.reason}): {self.text or '[not kept]'}"


@frozen(kw_only=True, str=False)
class ExtractionResult(Result):
    """What one extractor found in messages."""

    extractor: str
    model: str = ""
    prompt: str = ""
    """Digest of its instructions; empty: it has none."""
    status: str
    """``done``, ``partial``, ``failed`` or ``skipped`` (there was nothing to read)."""
    read: int = 0
    """Messages that it has read."""
    unread: int = 0
    """Messages that it could not read; adding them again tries again."""
    facts: tuple[FactResult, ...] = ()
    refused: tuple[RefusedFactResult, ...] = ()
    """The first of the facts that were not accepted."""
    refused_count: int = 0
    problems: tuple[str, ...] = ()
    """What went wrong, in words, each once; of a repeated command, what kind of problem it was."""

    @property
    def summary(self) -> str:
        parts = [f"{plural(len(self.facts), 'fact')} in {plural(self.read, 'message')}"]
        if self.refused_count:
            parts.append(f"{self.refused_count} refused")
        if self.unread:
            parts.append(f"{plural(self.unread, 'message')} unread")
        return f"{self.extractor}: {', '.join(parts)}{': ' if self.problems else ''}" + "; ".join(
            self.problems
        )


@frozen(kw_only=True, str=False)
class AddResult(Result):
    """Result of ``add``: the messages that were learned, and the facts found in them."""

    results: tuple[LearnResult, ...]
    """One per accepted message, in order."""
    refused: tuple[Refusal, ...] = ()
    extraction: ExtractionResult | None = None
    """None: no extractor was asked for."""

    @property
    def facts(self) -> tuple[FactResult, ...]:
        """The facts that were found."""
        return () if self.extraction is None else self.extraction.facts

    @property
    def summary(self) -> str:
        new = sum(not each.is_known for each in self.results)
        parts = [f"{plural(len(self.results), 'message')}, {new} new"]
        if self.refused:
            parts.append(f"{len(self.refused)} refused")
        said = f"Added: {', '.join(parts)}."
        return said if self.extraction is None else f"{said} {self.extraction.summary}."


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
