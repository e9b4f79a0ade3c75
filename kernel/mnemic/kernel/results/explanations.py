"""Why a block came up, and why another did not."""

from __future__ import annotations

from attrs import frozen

from mnemic.kernel.identity import BlockId, DecisionId, PolicyId, short
from mnemic.kernel.results.edges import Edge
from mnemic.kernel.results.recalls import Contribution
from mnemic.kernel.results.shape import Result, plural
from mnemic.kernel.results.spaces import Moment


@frozen(kw_only=True, str=False)
class BlockExplanation(Result):
    """One returned block: every signal, the edge it came through, and what lies behind it."""

    block_id: BlockId
    content: str
    rank: int
    """Its place in the answer, from 1."""
    candidate_rank: int | None
    """Its place among everything that was scored, from 1; None when the decision is sealed."""
    score: float
    contributions: tuple[Contribution, ...]
    """They add up to the score, to the last nano-unit of rounding."""
    relevance_parts: tuple[Contribution, ...]
    """What relevance was made of."""
    guaranteed: bool
    """Whether the frame lets it in whatever its score."""
    edge: Edge | None = None
    """The edge it came through; None when the question itself found it."""
    history: tuple[Moment, ...] = ()
    """The events behind it up to the decision, oldest first."""

    @property
    def summary(self) -> str:
        parts = " + ".join(f"{each.contribution:.3f} {each.signal}" for each in self.contributions)
        through = f", through {self.edge.summary}" if self.edge is not None else ""
        return f"#{self.rank} {short(self.block_id)} {self.score:.3f} = {parts}{through}"


@frozen(kw_only=True, str=False)
class Explanation(Result):
    """A past decision, block by block."""

    decision_id: DecisionId
    query: str | None
    frame: str
    policy_id: PolicyId
    recipe: str
    version: int
    """The version the decision read."""
    hour: float
    candidates: int | None
    """How many blocks were scored; None when the decision is sealed."""
    retriever: str = "exact"
    """How near vectors were found: ``exact``, by looking at all, or ``ann``, by an approximate
    search."""
    near: int | None = None
    """How many blocks the approximate search came upon; None where all vectors were looked at."""
    sealed: bool
    """Whether words it could see are erased since: then the stored signals speak alone."""
    blocks: tuple[BlockExplanation, ...]

    @property
    def summary(self) -> str:
        of = "" if self.candidates is None else f" of {self.candidates} scored"
        head = f"{self.decision_id} as of version {self.version}"
        found = "" if self.near is None else f"; an approximate search came upon {self.near}"
        return f"{head}: {plural(len(self.blocks), 'block')}{of}{found}."


@frozen(kw_only=True, str=False)
class WhyNot(Result):
    """Where a block fell out of a decision, and by how much."""

    decision_id: DecisionId
    block_id: BlockId
    stage: str
    """``returned``, ``not-learned``, ``inbox``, ``archived``, ``superseded``, ``expired``,
    ``filter``, ``candidates``, ``top_k``, ``token_budget``, ``zone_full``, ``explored``
    or ``sealed``."""
    detail: str
    """The stage in a sentence, with the numbers that decided."""
    successor_id: BlockId | None = None
    """What took its place, where it was superseded."""
    rank: int | None = None
    """Its place among everything that was scored, from 1."""
    score: float | None = None
    score_needed: float | None = None
    """The lowest score that was returned."""
    contributions: tuple[Contribution, ...] = ()

    @property
    def summary(self) -> str:
        return f"{short(self.block_id)} in {self.decision_id}: {self.stage}. {self.detail}"
