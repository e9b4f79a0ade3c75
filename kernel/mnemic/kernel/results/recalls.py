"""What a recall answers, signal by signal, and what its replay finds."""

from __future__ import annotations

from typing import Any

from attrs import frozen

from mnemic.kernel.identity import BlockId, DecisionId, PolicyId, short
from mnemic.kernel.results.blocks import Block
from mnemic.kernel.results.shape import Result, plural


@frozen(kw_only=True, str=False)
class Contribution(Result):
    """One signal of one block: what it is, what it weighs, what it adds to the score."""

    signal: str
    value: float
    weight: float
    contribution: float

    @property
    def summary(self) -> str:
        return f"{self.signal} {self.value:.3f} x {self.weight:.2f} = {self.contribution:.3f}"


@frozen(kw_only=True, str=False)
class ScoredBlock(Result):
    """One returned block. ``memory`` is what a caller reads; the rest says why it is here."""

    id: BlockId
    content: str
    category: str
    tags: tuple[str, ...] = ()
    author: str | None = None
    thread: str | None = None
    created_at: str | None = None
    zone: str
    composite_score: float
    relevance_score: float
    recency_score: float
    usefulness_score: float
    confidence_score: float
    frequency_score: float
    centrality_score: float | None = None
    reinforcement_score: float | None = None
    lexical_score: float
    """How much of the question its words and those around it answer."""
    cosine_score: float
    """Of its vector with the question's, at least 0."""
    contributions: tuple[Contribution, ...] = ()
    """What each signal adds to the score."""
    relevance_parts: tuple[Contribution, ...] = ()
    """What the strength of the match is made of, by which relevance ranks it among the others."""
    was_expanded: bool = False
    expanded_via: BlockId | None = None
    """The block whose edge brought it in."""
    was_explored: bool = False
    """Whether chance let it in, in the stead of the one whose turn it was."""
    tokens: int

    @property
    def score(self) -> float:
        """The composite score."""
        return self.composite_score

    @property
    def summary(self) -> str:
        return f"{short(self.id)} {self.composite_score:.3f} {self.content}"


@frozen(kw_only=True, str=False)
class Dropped(Result):
    """A block that a reader may miss, and what kept it out."""

    id: BlockId
    score: float | None = None
    """None where it was never scored."""
    reason: str
    """``top_k``, ``token_budget``, ``zone_full`` (its zone has taken its share), ``explored``
    (chance gave its place to another), ``superseded`` by a returned block, or ``filter``: the frame
    promises it and the caller's filter shut it out."""
    superseded_by: BlockId | None = None

    @property
    def summary(self) -> str:
        score = "" if self.score is None else f" {self.score:.3f}"
        by = "" if self.superseded_by is None else f" by {short(self.superseded_by)}"
        return f"{short(self.id)}{score} dropped: {self.reason}{by}"


@frozen(kw_only=True, str=False)
class SuggestedConnection(Result):
    """Two blocks that look worth connecting. Whether they are, and how, is the agent's to say."""

    source_id: BlockId
    """The end that was returned; of two, the one that ranked better."""
    target_id: BlockId
    source_content: str
    """At most 120 characters of it, on one line."""
    target_content: str
    reason: str
    suggested_relation: str
    """``co_occurs`` or ``similar``: what is known. An agent may know better."""
    confidence: float
    """In [0, 1]. For ``similar`` the cosine; for ``co_occurs`` the sessions in which the two were
    returned together, as a share of those that make an edge by themselves."""

    @property
    def summary(self) -> str:
        return (
            f"{short(self.source_id)} {self.source_content!r} and "
            f"{short(self.target_id)} {self.target_content!r}: {self.reason}. "
            f"Suggested relation: {self.suggested_relation}. Confidence: {self.confidence:.2f}"
        )


@frozen(kw_only=True, str=False)
class RecallResult(Result):
    """One answer: the blocks, why each is here, and a text to put into a prompt."""

    query: str | None
    frame: str
    blocks: tuple[ScoredBlock, ...]
    dropped: tuple[Dropped, ...] = ()
    counterpoints: tuple[Block, ...] = ()
    text: str
    """Prompt-ready, cited by short id, within the budget."""
    tokens: int
    token_budget: int
    decision_id: DecisionId | None
    """None when the recall was not recorded."""
    version: int
    """The version the answer was computed at."""
    hour: float
    """Active hours the answer was computed at."""
    digest: str
    """Of the ordered ids and scores."""
    policy_id: PolicyId
    retriever: str = "exact"
    """How near vectors were found: ``exact``, by looking at all, or ``ann``, by an approximate
    search, which may have missed some."""
    propensity: float = 1.0
    """How probable this answer was; below 1 only where chance had a say (``explore``)."""
    warnings: tuple[str, ...] = ()
    suggested_connections: tuple[SuggestedConnection, ...] = ()
    """The surest first; empty unless asked for with ``suggest=True``."""

    @property
    def block_ids(self) -> tuple[BlockId, ...]:
        """Ids of the returned blocks, best first."""
        return tuple(block.id for block in self.blocks)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields and ``block_ids`` as plain values."""
        return {**super().to_dict(), "block_ids": list(self.block_ids)}

    @property
    def summary(self) -> str:
        ids = ", ".join(short(block) for block in self.block_ids)
        how = " by approximate search" if self.retriever == "ann" else ""
        return f"Recalled {plural(len(self.blocks), 'block')}{how}{': ' + ids if ids else ''}."


@frozen(kw_only=True, str=False)
class Difference(Result):
    """What became of one block where a replay and its record part."""

    block_id: BlockId
    change: str
    """``entered``, ``left``, ``moved``, ``score`` (same place, other score) or ``signals`` (same
    score, made of other signals)."""
    recorded_rank: int | None
    """From 1; None: the record has not got it."""
    recorded_score: float | None
    replayed_rank: int | None
    replayed_score: float | None

    @property
    def summary(self) -> str:
        was = "-" if self.recorded_rank is None else f"#{self.recorded_rank}"
        now = "-" if self.replayed_rank is None else f"#{self.replayed_rank}"
        return f"{short(self.block_id)} {self.change}: recorded {was}, replayed {now}"


@frozen(kw_only=True, str=False)
class ReplayResult(Result):
    """What came of computing a past decision again."""

    decision_id: DecisionId
    outcome: str
    """``reproduced``, ``differs``, or ``sealed`` where words it could see are erased since."""
    version: int
    hour: float
    recorded_digest: str
    replayed_digest: str | None
    """None when sealed: the answer cannot be computed, only checked."""
    recombines: bool
    """Whether the stored signals add up to the stored scores and digest."""
    differences: tuple[Difference, ...] = ()
    cause: str | None = None
    """In a sentence; None where it was reproduced."""
    suspect: str | None = None
    """What the cause comes down to where it differs: ``policy`` or ``embedder`` (the view has
    another one than the record names), ``record`` (what is stored does not agree with itself), or
    ``state`` (it does, so what it read must read otherwise today: by another release's fold or
    recipe, or by a log that was written over)."""
    recall: RecallResult | None = None
    """The answer as computed again; None when sealed."""

    @property
    def summary(self) -> str:
        where = f"{self.decision_id} as of version {self.version}"
        if self.outcome == "reproduced":
            return f"Reproduced {where}, digest {self.recorded_digest}."
        if self.outcome == "sealed":
            return f"Sealed: {where} saw words that are erased since; {self.cause}."
        return f"{plural(len(self.differences), 'difference')} in {where}: {self.cause}."
