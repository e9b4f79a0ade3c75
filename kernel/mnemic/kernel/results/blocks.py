"""What verbs on blocks answer, and blocks themselves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import frozen

from mnemic.kernel.identity import BlockId, short
from mnemic.kernel.results.shape import Refusal, Result, plural


@frozen(kw_only=True, str=False)
class LearnResult(Result):
    """What became of one ``learn``."""

    block_id: BlockId
    action: str
    """``created``, ``duplicate`` or ``reactivated``."""
    version: int
    """The log's version that holds the block's learning."""

    @property
    def summary(self) -> str:
        ends = {"created": "waits in the inbox", "duplicate": "is known already"}
        return f"Block {short(self.block_id)} {ends.get(self.action, 'is back in the inbox')}."


@frozen(kw_only=True, str=False)
class LearnManyResult(Result):
    """What became of each item of a ``learn_many``, in order."""

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
            parts.append(f"{len(self.refused)} refused")
        return f"Learned: {', '.join(parts)}."


@frozen(kw_only=True, str=False)
class ReviseResult(Result):
    """A new text took the place of an old block."""

    block_id: BlockId
    superseded_id: BlockId
    edges_moved: int
    edges_lost: tuple[BlockId, ...]
    """Other ends of agent and outcome edges that found no room."""
    version: int

    @property
    def summary(self) -> str:
        moved = plural(self.edges_moved, "edge")
        return f"{short(self.superseded_id)} superseded by {short(self.block_id)}; {moved} moved."


@frozen(kw_only=True, str=False)
class ConsolidateResult(Result):
    """What one consolidation did, all its chunks together."""

    promoted: int = 0
    superseded: int = 0
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
            parts.append(f"{self.superseded} superseded")
        if self.near_duplicates:
            parts.append(plural(self.near_duplicates, "near-duplicate pair"))
        parts.append(plural(self.edges_created, "edge") + " created")
        if self.inbox_remaining:
            parts.append(f"{self.inbox_remaining} still in the inbox: run consolidate() again")
        return f"Consolidated: {', '.join(parts)}."


@frozen(kw_only=True, str=False)
class ReembedResult(Result):
    """A space moved to another embedder."""

    embedder: str
    """Name of the embedder now in force."""
    staged: int
    """Blocks that were embedded for it by this call."""

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
class RezoneResult(Result):
    block_id: BlockId
    zone: str
    action: str
    """``rezoned`` or ``unchanged``."""

    @property
    def summary(self) -> str:
        return f"Block {short(self.block_id)} {self.action}: zone {self.zone}."


@frozen(kw_only=True, str=False)
class ErasureReceipt(Result):
    """Proof that something was asked to be forgotten, and where the log says so."""

    block_id: BlockId | None
    """None: the whole space."""
    version: int
    """Of the event that erased it."""
    chain: str
    """Chain digest of the log's end after it, hex."""
    left: tuple[str, ...] = ()
    """Checkpoints that may hold the words still, since they cannot be removed."""

    @property
    def summary(self) -> str:
        what = "Space" if self.block_id is None else f"Block {short(self.block_id)}"
        said = f"{what} erased at version {self.version}."
        if not self.left:
            return said
        names = ", ".join(self.left)
        return f"{said} But {names} could not be removed and may hold its words: remove it by hand."


@frozen(kw_only=True, str=False)
class Block(Result):
    """One block as a view shows it."""

    id: BlockId
    content: str | None
    """None once erased."""
    status: str
    archive_reason: str | None = None
    superseded_by: BlockId | None = None
    category: str
    tags: tuple[str, ...] = ()
    author: str | None = None
    thread: str | None = None
    metadata: Mapping[str, Any] | None = None
    summary_text: str | None = None
    """What an analyst made of it."""
    source: str
    zone: str
    confidence: float
    created_at: str | None = None
    """ISO 8601, UTC."""
    expires_at: str | None = None
    learned_version: int
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
    """Weight of outcomes so far, without the prior."""
    degree: int = 0

    @property
    def summary(self) -> str:
        words = "[erased]" if self.content is None else self.content
        return f"{short(self.id)} [{self.status}] {words}"


@frozen(kw_only=True, str=False)
class Page(Result):
    """A stretch of a listing, ordered by the version that brought each entry."""

    items: tuple[Block, ...]
    next_after: int | None = None
    """Pass as ``after`` for the next page; None at the end."""

    @property
    def summary(self) -> str:
        more = "" if self.next_after is None else f"; more after version {self.next_after}"
        return f"{plural(len(self.items), 'block')}{more}."
