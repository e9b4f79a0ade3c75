"""Results of operations on blocks, and blocks themselves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import frozen

from mnemic.kernel.model.identity import BlockId, short
from mnemic.kernel.model.periods import HOLDS
from mnemic.kernel.rendering import TRUSTED, cited, labelled, render_line
from mnemic.kernel.results.shape import (
    NAMED_MAX,
    Listing,
    Refusal,
    Result,
    plural,
    reasons,
)

ACTIVE = "active"


@frozen(kw_only=True, str=False)
class LearnResult(Result):
    """Result of one ``learn``."""

    block_id: BlockId
    action: str
    """``created``, ``restated``, ``reactivated``, ``revised`` or ``duplicate``."""
    version: int
    """Version of the event that recorded it; of a duplicate, of the one that learned the block."""

    @property
    def is_known(self) -> bool:
        """Whether the block was in the memory already."""
        return self.action in {"restated", "duplicate"}

    @property
    def summary(self) -> str:
        ends = {
            "created": "waits in the inbox",
            "restated": "is known already; said again now",
            "duplicate": "is known already",
            "revised": "waits in the inbox, in place of the text that its key had",
        }
        return f"Block {short(self.block_id)} {ends.get(self.action, 'is back in the inbox')}."


@frozen(kw_only=True, str=False)
class LearnManyResult(Result):
    """Result of a ``learn_many``, with each item in order."""

    results: tuple[LearnResult, ...]
    refused: tuple[Refusal, ...] = ()

    @property
    def created(self) -> int:
        """How many blocks are new."""
        return sum(result.action == "created" for result in self.results)

    @property
    def summary(self) -> str:
        known = len(self.results) - self.created
        parts = [f"{self.created} created"]
        if known:
            parts.append(f"{known} known")
        if self.refused:
            parts.append(f"{len(self.refused)} refused ({reasons(self.refused)})")
        return f"Learned: {', '.join(parts)}."


@frozen(kw_only=True, str=False)
class ReviseResult(Result):
    """Result of ``revise``: a new text replaced an old block."""

    block_id: BlockId
    superseded_id: BlockId
    edges_moved: int
    edges_lost: tuple[BlockId, ...]
    """Other ends of agent and outcome edges that exceeded the degree cap."""
    version: int

    @property
    def summary(self) -> str:
        moved = plural(self.edges_moved, "edge")
        return f"{short(self.superseded_id)} superseded by {short(self.block_id)}; {moved} moved."


@frozen(kw_only=True, str=False)
class Replacement(Result):
    """A block that was archived because another one took its place."""

    old: BlockId
    new: BlockId
    why: str
    """``same``: it makes the same statement. ``extends``: it contains all of it. ``revised``: a
    caller revised it. ``similar``: its vector was similar, in logs of releases before 0.5.0."""
    by: str | None = None
    """In a recall, who said what replaced it, and which extractor found that; None: no extractor
    did."""

    @property
    def summary(self) -> str:
        said = {
            "same": "says the same",
            "extends": "says that and more",
            "revised": "revises it",
            "similar": "was similar",
        }
        by = "" if self.by is None else f", as said by {labelled(self.by)}"
        return f"{short(self.old)} superseded by {short(self.new)}, which {said[self.why]}{by}"


@frozen(kw_only=True, str=False)
class ContradictedPair(Result):
    """Two blocks that contradict each other; both stay."""

    older: BlockId
    newer: BlockId

    @property
    def summary(self) -> str:
        return f"{short(self.newer)} contradicts {short(self.older)}"


@frozen(kw_only=True, str=False)
class ConsolidateResult(Result):
    """Result of one consolidation, summed over its chunks."""

    promoted: int = 0
    superseded: tuple[Replacement, ...] = ()
    """Supersessions, in the order of promotion."""
    contradictions: tuple[ContradictedPair, ...] = ()
    """Pairs that were linked as contradicting each other."""
    near_duplicates: int = 0
    edges_created: int = 0
    """Edges stored."""
    analyses_failed: int = 0
    inbox_remaining: int = 0
    chunks: int = 0

    @property
    def summary(self) -> str:
        if not (self.promoted or self.edges_created):
            return "Nothing to consolidate."
        parts = [plural(self.promoted, "block") + " promoted"]
        if self.superseded:
            parts.append(f"{len(self.superseded)} superseded")
        if self.contradictions:
            parts.append(plural(len(self.contradictions), "contradiction"))
        if self.near_duplicates:
            parts.append(plural(self.near_duplicates, "near-duplicate pair"))
        parts.append(plural(self.edges_created, "edge") + " created")
        if self.inbox_remaining:
            parts.append(f"{self.inbox_remaining} still in the inbox: run consolidate() again")
        said = [each.summary for each in (*self.superseded, *self.contradictions)]
        more = len(said) - NAMED_MAX
        said = [*said[:NAMED_MAX], *([f"and {more} more"] if more > 0 else [])]
        return f"Consolidated: {', '.join(parts)}." + "".join(f" {each}." for each in said)


@frozen(kw_only=True, str=False)
class ReembedResult(Result):
    """Result of moving a space to another embedder."""

    embedder: str
    """Name of the new current embedder."""
    staged: int
    """Number of blocks that were embedded for it by this call."""

    @property
    def summary(self) -> str:
        return f"{plural(self.staged, 'block')} embedded; {self.embedder} is in force."


@frozen(kw_only=True, str=False)
class ForgetResult(Result):
    block_id: BlockId
    action: str
    """``archived`` or ``already_archived``."""

    @property
    def summary(self) -> str:
        return f"Block {short(self.block_id)} {self.action.replace('_', ' ')}."


@frozen(kw_only=True, str=False)
class ForgetManyResult(Result):
    """Result of a ``forget_many``."""

    block_ids: tuple[BlockId, ...]
    """What is archived; with *dry_run*, what would be."""
    version: int
    """Version of the last event that archived any of it; without one, of the log."""
    dry_run: bool = False
    """Whether nothing was written."""

    @property
    def summary(self) -> str:
        return _removed(self, plural(len(self.block_ids), "block"), "archived")


@frozen(kw_only=True, str=False)
class RezoneResult(Result):
    block_id: BlockId
    zone: str
    action: str
    """``rezoned`` or ``unchanged``."""

    @property
    def summary(self) -> str:
        return f"Block {short(self.block_id)} {self.action}: zone {labelled(self.zone)}."


@frozen(kw_only=True, str=False)
class ErasureReceipt(Result):
    """Proof of an erasure request, with its position in the log."""

    block_ids: tuple[BlockId, ...]
    """What is erased, in the order given; none: the whole space."""
    version: int
    """Version of the last event that erased any of it."""
    chain: str
    """Chain digest of the log's end after it, hex."""
    facts: tuple[BlockId, ...] = ()
    """Facts that are erased with it: an extractor found them in these messages alone."""
    kept: tuple[BlockId, ...] = ()
    """Facts that rest on it and on something else as well; they are not erased."""
    left: tuple[str, ...] = ()
    """Checkpoints that may still hold the text, since they could not be removed."""

    @property
    def summary(self) -> str:
        what = plural(len(self.block_ids), "block") if self.block_ids else "Space"
        if len(self.block_ids) == 1:
            what = f"Block {short(self.block_ids[0])}"
        resting = f" with {plural(len(self.facts), 'fact')}" if self.facts else ""
        said = f"{what}{resting} erased at version {self.version}."
        if self.kept:
            said += f" {plural(len(self.kept), 'fact')} with other sources kept."
        return said + _left(self.left)


@frozen(kw_only=True, str=False)
class EraseManyReceipt(Result):
    """Proof of an ``erase_many``, with its position in the log."""

    block_ids: tuple[BlockId, ...]
    """What is erased, without *facts*; with *dry_run*, what would be."""
    version: int
    """Version of the last event that erased any of it; without one, of the log."""
    chain: str
    """Chain digest of the log's end after it, hex."""
    facts: tuple[BlockId, ...] = ()
    """Facts that are erased too and were found in these messages: the filter found them, or they
    rest on the messages alone."""
    kept: tuple[BlockId, ...] = ()
    """Facts that rest on them and on something else as well; they are not erased."""
    left: tuple[str, ...] = ()
    """Checkpoints that may still hold the text, since they could not be removed."""
    dry_run: bool = False
    """Whether nothing was written."""

    @property
    def summary(self) -> str:
        what = plural(len(self.block_ids), "block")
        if self.facts:
            what += f" with {plural(len(self.facts), 'fact')}"
        said = _removed(self, what, "erased")
        if self.kept:
            said += f" {plural(len(self.kept), 'fact')} with other sources kept."
        return said + _left(self.left)


def _removed(result: ForgetManyResult | EraseManyReceipt, what: str, how: str) -> str:
    if not result.block_ids:
        return f"No block to be {how}."
    if result.dry_run:
        return f"{what} would be {how}."
    return f"{what} {how} at version {result.version}."


def _left(names: tuple[str, ...]) -> str:
    if not names:
        return ""
    return f" But {', '.join(names)} could not be removed and may hold its text: remove it by hand."


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
        """The mark of its zone and writer that is shown with the text; empty if it is trusted."""
        if self.zone == TRUSTED:
            return ""
        return f" ({labelled(self.zone)}, written by {labelled(self.actor)})"

    @property
    def summary(self) -> str:
        claims = "" if self.author is None else f", claims {labelled(self.author)}"
        return f"{labelled(self.zone)}, written by {labelled(self.actor)}{claims}"


@frozen(kw_only=True, str=False)
class Block(Result):
    """One block in a view."""

    COLUMNS = ("id", "content", "status", "category", "tags", "author", "created_at", "zone")

    id: BlockId
    content: str | None
    """None once erased, or if it is lost."""
    lost: bool = False
    """Whether its text is missing although it was not erased: see ``PayloadsMissing``."""
    status: str
    archive_reason: str | None = None
    superseded_by: BlockId | None = None
    category: str
    tags: tuple[str, ...] = ()
    author: str | None = None
    thread: str | None = None
    metadata: Mapping[str, Any] | None = None
    summary_text: str | None = None
    """Summary by an analyst."""
    source: str
    zone: str
    actor: str
    """Who wrote it: the actor that the log names, which a caller cannot choose."""
    confidence: float
    created_at: str | None = None
    """When it was last said; ISO 8601, UTC."""
    expires_at: str | None = None
    valid_from: str | None = None
    """Since when its fact holds; ISO 8601, UTC. None: since ever."""
    valid_until: str | None = None
    """Until when its fact holds, exclusive; ISO 8601, UTC. None: the end is open."""
    validity: str = HOLDS
    """Whether its fact holds at the moment of the view: ``holds``, ``ended`` or ``later``."""
    learned_version: int
    said_version: int
    """Version at which it was last said: learned or restated."""
    last_reinforced_hour: float
    """Active hours."""
    reinforcements: int = 0
    retrievals: int = 0
    decay_rate: float
    """Per active hour."""
    recency: float
    """exp(-decay_rate * active hours since last reinforced), at the view's hour."""
    usefulness: float
    evidence: float
    """Total weight of outcomes so far, without the prior."""
    degree: int = 0

    @property
    def summary(self) -> str:
        return render_line(
            cited(
                self.id,
                self.content,
                zone=self.zone,
                actor=self.actor,
                author=self.author,
                created_at=self.created_at,
                status=None if self.status == ACTIVE else self.status,
                is_lost=self.lost,
                validity=self.validity,
                valid_from=self.valid_from,
                valid_until=self.valid_until,
            )
        )


@frozen(kw_only=True, str=False)
class Page(Listing, Result):
    """One page of a listing, ordered by the version that added each entry.

    It iterates over its entries and has their number as its length.
    """

    items: tuple[Block, ...]
    next_after: int | None = None
    """Pass as ``after`` for the next page; None at the end."""

    @property
    def summary(self) -> str:
        more = "" if self.next_after is None else f"; more after version {self.next_after}"
        return f"{plural(len(self.items), 'block')}{more}."


# --- one block over time -----------------------------------------------------------------------


@frozen(kw_only=True, str=False)
class TrajectoryPoint(Result):
    """One block at one point."""

    version: int
    hour: float
    status: str
    recency: float
    """exp(-decay_rate * active hours since last reinforced)."""
    usefulness: float
    evidence: float
    """Total weight of outcomes, without the prior."""
    reinforcements: int
    retrievals: int

    @property
    def summary(self) -> str:
        values = f"recency {self.recency:.3f}, usefulness {self.usefulness:.3f}"
        return f"version {self.version} at {self.hour:.2f} h: {self.status}, {values}"


@frozen(kw_only=True, str=False)
class Trajectory(Result):
    """One block over time: when it changed, and points of equal distance in between."""

    block_id: BlockId
    points: tuple[TrajectoryPoint, ...]
    """Oldest first."""
    supersedes: tuple[BlockId, ...] = ()
    """The blocks that it superseded, sorted."""

    @property
    def summary(self) -> str:
        return f"{short(self.block_id)} at {plural(len(self.points), 'point')}."
