"""Results of ``explain`` and ``why_not``: why a block was returned, and why another was not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import frozen

from mnemic.kernel.model.identity import (
    BlockId,
    DecisionId,
    PolicyId,
    short,
)
from mnemic.kernel.results.edges import Edge
from mnemic.kernel.results.recalls import Contribution
from mnemic.kernel.results.shape import Result, plural
from mnemic.kernel.results.spaces import LogEntry


@frozen(kw_only=True, str=False)
class ProbabilityTerm(Result):
    """One term of the log-odds that a block bears on the question."""

    part: str
    """A part of the match, or ``bias``, whose value is 1."""
    value: float
    weight: float
    log_odds: float
    """Value times weight. The probability is 1 / (1 + exp(-sum of all terms))."""

    @property
    def summary(self) -> str:
        return f"{self.part} {self.value:.3f} x {self.weight:.2f} = {self.log_odds:+.2f}"


@frozen(kw_only=True, str=False)
class BlockExplanation(Result):
    """One returned block: every signal, the edge that led to it, and its history."""

    block_id: BlockId
    content: str
    zone: str
    source: str
    actor: str
    """Who wrote it: the actor that the log names, which a caller cannot choose."""
    author: str | None = None
    """The author that the writer gave."""
    rank: int
    """Its place in the answer, from 1."""
    candidate_rank: int | None
    """Its place among everything that was scored, from 1; None when the decision is sealed."""
    score: float
    contributions: tuple[Contribution, ...]
    """Contributions that add up to the score, to the last nano-unit of rounding."""
    relevance_parts: tuple[Contribution, ...]
    """Parts of relevance."""
    probability: float | None = None
    """Probability that it bears on the question, as recorded; None by recipes without one."""
    probability_terms: tuple[ProbabilityTerm, ...] = ()
    """Terms of its log-odds, the bias included."""
    guaranteed: bool
    """Whether the frame guarantees it a place regardless of its score."""
    edge: Edge | None = None
    """The edge that led to it; None when the query itself found it."""
    history: tuple[LogEntry, ...] = ()
    """The events of the block up to the decision, oldest first."""

    @property
    def summary(self) -> str:
        parts = " + ".join(f"{each.contribution:.3f} {each.signal}" for each in self.contributions)
        through = f", through {self.edge.summary}" if self.edge is not None else ""
        return f"#{self.rank} {short(self.block_id)} {self.score:.3f} = {parts}{through}"


@frozen(kw_only=True, str=False)
class NearMiss(Result):
    """A block that was scored and not returned."""

    block_id: BlockId
    content: str
    zone: str
    actor: str
    """Who wrote it: the actor that the log names, which a caller cannot choose."""
    author: str | None = None
    """The author that the writer gave."""
    rank: int
    """Its place among everything that was scored, from 1."""
    score: float
    margin: float | None = None
    """By how much its score was below the lowest returned one; negative if it was above, and
    something else excluded it; None if nothing was returned."""
    reason: str
    """What excluded it: a stage of ``WhyNot``."""
    contributions: tuple[Contribution, ...] = ()

    @property
    def summary(self) -> str:
        short_of = "" if self.margin is None else f", {self.margin:.3f} short"
        return f"#{self.rank} {short(self.block_id)} {self.score:.3f}{short_of}: {self.reason}"


@frozen(kw_only=True, str=False)
class Explanation(Result):
    """A past decision, block by block."""

    decision_id: DecisionId
    query: str | None
    frame: str
    top_k: int | None = None
    """Most blocks, as asked for; None: not given."""
    where: Mapping[str, Any] | None = None
    """The filter, as asked for."""
    asked_by: str | None = None
    """The asker, as given."""
    policy_id: PolicyId
    recipe: str
    version: int
    """The version the decision read."""
    hour: float
    candidates: int | None
    """Number of blocks scored; None when the decision is sealed."""
    retriever: str = "exact"
    """Method of vector search: ``exact``, over all vectors, or ``ann``, approximate."""
    near: int | None = None
    """Number of blocks the approximate search found; None if all vectors were searched."""
    answerable: float | None = None
    """Probability that memory answers the question, as recorded; None by recipes without one."""
    verdict: str = ""
    """``yes``, ``weak`` or ``no``, as recorded; "" where ``answerable`` is None."""
    sealed: bool
    """Whether text it could see was erased since: then only the stored signals are available."""
    blocks: tuple[BlockExplanation, ...]
    missed: tuple[NearMiss, ...] = ()
    """The ten best blocks that were scored and not returned; empty if one block was asked for."""

    @property
    def summary(self) -> str:
        of = "" if self.candidates is None else f" of {self.candidates} scored"
        head = f"{self.decision_id} as of version {self.version}"
        found = "" if self.near is None else f"; an approximate search found {self.near}"
        verdict = f"; verdict {self.verdict}, {self.answerable:.2f}" if self.verdict else ""
        return f"{head}: {plural(len(self.blocks), 'block')}{of}{found}{verdict}."


@frozen(kw_only=True, str=False)
class WhyNot(Result):
    """The stage at which a block was excluded from a decision, and by what margin."""

    decision_id: DecisionId
    block_id: BlockId
    stage: str
    """``returned``, ``not-learned``, ``inbox``, ``archived``, ``superseded``, ``expired``,
    ``filter``, ``candidates``, ``min_probability``, ``top_k``, ``token_budget``, ``zone_full``,
    ``explored`` or ``sealed``."""
    detail: str
    """The stage in a sentence, with the decisive numbers."""
    successor_id: BlockId | None = None
    """Its successor, if it was superseded."""
    rank: int | None = None
    """Its place among everything that was scored, from 1."""
    score: float | None = None
    score_needed: float | None = None
    """The lowest returned score."""
    contributions: tuple[Contribution, ...] = ()

    @property
    def summary(self) -> str:
        return f"{short(self.block_id)} in {self.decision_id}: {self.stage}. {self.detail}"
