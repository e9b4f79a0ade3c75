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
    """The words' part of relevance."""
    cosine_score: float
    """The vectors' part of relevance."""
    contributions: tuple[Contribution, ...] = ()
    was_expanded: bool = False
    expanded_via: BlockId | None = None
    """The block whose edge brought it in."""
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
    """A block that would have come next, and what kept it out."""

    id: BlockId
    score: float
    reason: str
    """``top_k`` or ``token_budget``."""

    @property
    def summary(self) -> str:
        return f"{short(self.id)} {self.score:.3f} dropped: {self.reason}"


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
    warnings: tuple[str, ...] = ()

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
        return f"Recalled {plural(len(self.blocks), 'block')}{': ' + ids if ids else ''}."


@frozen(kw_only=True, str=False)
class Difference(Result):
    """One place where a replay and its record part."""

    rank: int
    """From 1."""
    recorded: BlockId | None
    recorded_score: float | None
    replayed: BlockId | None
    replayed_score: float | None

    @property
    def summary(self) -> str:
        was = "-" if self.recorded is None else short(self.recorded)
        now = "-" if self.replayed is None else short(self.replayed)
        return f"#{self.rank}: recorded {was}, replayed {now}"


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
