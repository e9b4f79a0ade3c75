"""What the frontier answers: blocks that have never been composed and look worth it."""

from __future__ import annotations

from attrs import frozen

from mnemic.kernel.identity import BlockId, CompositionId, short
from mnemic.kernel.results.shape import Result, plural


@frozen(kw_only=True, str=False)
class ClassicCandidate(Result):
    """A pair that was never composed, as mode ``classic`` scores it. It is a question, no finding.

    Source: reference composed-graph 1.3 and 2.
    """

    first_id: BlockId
    """The newer one."""
    second_id: BlockId
    score: float
    """At least 1.6; it has no upper end that means anything."""
    novelty_score: float
    """How little the two were composed with anything. Range: [0, 1]."""
    bridge_score: float
    """How far apart they stand, and what still ties them. Range: [0, 1]."""
    trust_score: float
    """How well they are remembered, the mean of both. Range: [0, 1]."""
    outcome_score_adjustment: float
    """What labels of their compositions add. Range: [-0.8, 0.5]."""
    shared_tags: tuple[str, ...] = ()
    boundary_tags: tuple[str, ...] = ()
    """Of either."""
    shared_terms: tuple[str, ...] = ()
    """The most specific first, at most 8."""
    prior_outcomes: tuple[str, ...] = ()
    """Kinds of labels on compositions of either."""
    outcome_signal: str = "clean"
    first_category: str
    second_category: str
    first_preview: str
    second_preview: str
    reason: str
    composition_question: str
    """What to answer before doing anything; never empty."""

    @property
    def summary(self) -> str:
        ends = f"{short(self.first_id)} × {short(self.second_id)}"
        return f"{ends} {self.score:.3f} {self.outcome_signal}: {self.reason}"


@frozen(kw_only=True, str=False)
class FrontierCandidate(Result):
    """Blocks that were never composed as a whole, and why that looks worth it."""

    block_ids: tuple[BlockId, ...]
    """Two to four, sorted."""
    kind: str
    """``pair``; of larger sets ``open`` (every pair was composed, the whole never), ``wedge``
    (some pairs were) or ``cold`` (none was)."""
    score: float
    """Never above the ceiling of any member's trust zone. Range: [0, 1]."""
    total: float
    """What the components add up to, before it is brought to [0, 1] and limited."""
    components: dict[str, float]
    """Of a pair: what ties it (terms, tags, paths, forms and edges make up the anchor), band,
    bridge, novelty, trust and adjustment. Of a set: its weakest tie and synergy, or its closure;
    novelty and trust."""
    cosine: float | None = None
    """Of a pair."""
    cap: float
    """The lowest ceiling of the members' zones."""
    limited_by: BlockId | None = None
    """The member that sets the cap; None where every zone is trusted in full."""
    shared_terms: tuple[str, ...] = ()
    """Words that two members have, the most specific first, at most 8."""
    shared_tags: tuple[str, ...] = ()
    boundary_tags: tuple[str, ...] = ()
    """Of any member."""
    prior_outcomes: tuple[str, ...] = ()
    """Kinds of labels on compositions of any member."""
    outcome_signal: str = "clean"
    categories: tuple[str, ...] = ()
    previews: tuple[str, ...] = ()
    reason: str
    composition_question: str
    """What to answer before doing anything; never empty."""

    @property
    def summary(self) -> str:
        ends = " × ".join(map(short, self.block_ids))
        return f"{ends} {self.score:.3f} {self.kind}, {self.outcome_signal}: {self.reason}"


@frozen(kw_only=True, str=False)
class Hindsight(Result):
    """What a frontier of the past did not know: it was composed later, and it worked."""

    block_ids: tuple[BlockId, ...]
    composition_id: CompositionId
    labels: tuple[str, ...]
    """Good ones, as they count now."""
    rank: int | None = None
    """Its place in the whole queue then, from 1; None where it was no candidate."""
    score: float | None = None
    """Its score then."""

    @property
    def summary(self) -> str:
        ends = " × ".join(map(short, self.block_ids))
        place = "missed" if self.rank is None else f"rank {self.rank} then"
        return f"{ends} {place}; {self.composition_id}: {', '.join(self.labels)}"


@frozen(kw_only=True, str=False)
class Frontier(Result):
    """A queue of what was never composed, best first. It asks; it found nothing out."""

    mode: str
    """``default`` or ``classic``."""
    size: int | str
    """Members of a candidate, or ``any``."""
    tags: tuple[str, ...] = ()
    version: int
    """Of the view it was computed on."""
    hour: float
    blocks: int = 0
    """How many could be composed."""
    considered: int = 0
    """How many pairs came up for a look; 0 in mode ``classic``."""
    candidates: tuple[FrontierCandidate | ClassicCandidate, ...] = ()
    empty_because: str | None = None
    """``too-few-blocks``, ``nothing-in-common``, ``all-composed``, ``filtered``, ``below-floor`` or
    ``no-such-set``; None when there is a candidate."""
    hindsight: tuple[Hindsight, ...] = ()
    """Only of a frontier as it stood at a decision. It is no part of what could be known then."""

    @property
    def summary(self) -> str:
        if not self.candidates:
            return f"No candidate at version {self.version}: {self.empty_because}."
        found = plural(len(self.candidates), "candidate")
        return f"{found} at version {self.version}; first {self.candidates[0].summary}"
