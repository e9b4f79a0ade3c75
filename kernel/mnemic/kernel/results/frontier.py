"""Results of the frontier: blocks that were never composed together and may be worth it."""

from __future__ import annotations

from attrs import frozen

from mnemic.kernel.model.identity import BlockId, CompositionId, short
from mnemic.kernel.rendering import escaped, labelled
from mnemic.kernel.results.blocks import Origin
from mnemic.kernel.results.shape import Listing, Result, plural


@frozen(kw_only=True, str=False)
class ClassicCandidate(Result):
    """A pair that was never composed, as scored by mode ``classic``: a question, not a finding.

    Source: reference composed-graph 1.3 and 2.
    """

    first_id: BlockId
    """The newer one."""
    second_id: BlockId
    score: float
    """At least 1.6; without a meaningful upper bound."""
    novelty_score: float
    """Higher the less the two were composed with anything. Range: [0, 1]."""
    bridge_score: float
    """Distance between the two, and what still connects them. Range: [0, 1]."""
    trust_score: float
    """Retention, the mean of both. Range: [0, 1]."""
    outcome_score_adjustment: float
    """Adjustment by labels of their compositions. Range: [-0.8, 0.5]."""
    shared_tags: tuple[str, ...] = ()
    boundary_tags: tuple[str, ...] = ()
    """Boundary tags of either block."""
    shared_terms: tuple[str, ...] = ()
    """The most specific first, at most 8."""
    prior_outcomes: tuple[str, ...] = ()
    """Kinds of labels on compositions of either."""
    outcome_signal: str = "clean"
    first_category: str
    second_category: str
    first_preview: str
    second_preview: str
    first_origin: Origin | None = None
    """Where the text of the first comes from."""
    second_origin: Origin | None = None
    reason: str
    composition_question: str
    """What to answer before doing anything; never empty."""

    @property
    def summary(self) -> str:
        ends = f"{short(self.first_id)} × {short(self.second_id)}"
        return f"{ends} {self.score:.3f} {self.outcome_signal}: {escaped(self.reason)}"


@frozen(kw_only=True, str=False)
class FrontierCandidate(Result):
    """Blocks that were never composed as a whole, and why composing them may be worth it."""

    block_ids: tuple[BlockId, ...]
    """Two to four, sorted."""
    kind: str
    """``pair``; of larger sets ``open`` (every pair was composed, the whole never), ``wedge``
    (some pairs were) or ``cold`` (none was)."""
    score: float
    """Never above the ceiling of any member's trust zone. Range: [0, 1]."""
    total: float
    """Sum of the components, before it is scaled to [0, 1] and limited."""
    components: dict[str, float]
    """Of a pair: what links it (terms, tags, paths, forms and edges make up the anchor), band,
    bridge, novelty, trust and adjustment. Of a set: its weakest link and synergy, or its closure;
    novelty and trust."""
    cosine: float | None = None
    """Cosine of a pair; None for larger sets."""
    cap: float
    """The lowest ceiling of the members' zones."""
    limited_by: BlockId | None = None
    """The member that determines the cap; None if every zone is fully trusted."""
    shared_terms: tuple[str, ...] = ()
    """Terms that two members share, the most specific first, at most 8."""
    shared_tags: tuple[str, ...] = ()
    boundary_tags: tuple[str, ...] = ()
    """Boundary tags of any member."""
    prior_outcomes: tuple[str, ...] = ()
    """Kinds of labels on compositions of any member."""
    outcome_signal: str = "clean"
    categories: tuple[str, ...] = ()
    previews: tuple[str, ...] = ()
    origins: tuple[Origin, ...] = ()
    """Where the text of each member comes from, in the order of their ids."""
    reason: str
    composition_question: str
    """What to answer before doing anything; never empty."""

    @property
    def summary(self) -> str:
        ends = " × ".join(map(short, self.block_ids))
        return f"{ends} {self.score:.3f} {self.kind}, {self.outcome_signal}: {escaped(self.reason)}"


@frozen(kw_only=True, str=False)
class Calibration(Result):
    """A set that was composed later with a good outcome, and its rank in a past frontier."""

    block_ids: tuple[BlockId, ...]
    composition_id: CompositionId
    labels: tuple[str, ...]
    """Good labels that count now."""
    rank: int | None = None
    """Its rank in the whole queue at the time, from 1; None if it was no candidate."""
    score: float | None = None
    """Its score at the time."""

    @property
    def summary(self) -> str:
        ends = " × ".join(map(short, self.block_ids))
        place = "missed" if self.rank is None else f"rank {self.rank} then"
        return f"{ends} {place}; {labelled(self.composition_id)}: {', '.join(self.labels)}"


@frozen(kw_only=True, str=False)
class Frontier(Listing, Result):
    """A queue of sets that were never composed, best first: questions, not findings."""

    LISTED = "candidates"

    mode: str
    """``default`` or ``classic``."""
    size: int | str
    """Members of a candidate, or ``any``."""
    tags: tuple[str, ...] = ()
    version: int
    """Version of the view it was computed on."""
    hour: float
    blocks: int = 0
    """Number of blocks that could be composed."""
    considered: int = 0
    """Number of pairs considered; 0 in mode ``classic``."""
    candidates: tuple[FrontierCandidate | ClassicCandidate, ...] = ()
    empty_because: str | None = None
    """``too-few-blocks``, ``nothing-in-common``, ``all-composed``, ``filtered``, ``below-floor`` or
    ``no-such-set``; None when there is a candidate."""
    calibration: tuple[Calibration, ...] = ()
    """Only for a frontier as of a decision. It was not part of what could be known at the time."""

    @property
    def summary(self) -> str:
        if not self.candidates:
            return f"No candidate at version {self.version}: {self.empty_because}."
        found = plural(len(self.candidates), "candidate")
        return f"{found} at version {self.version}; first {self.candidates[0].summary}"
