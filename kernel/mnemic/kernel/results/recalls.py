"""Results of a recall, signal by signal, and of its replay."""

from __future__ import annotations

from typing import Any, Final, Literal, TypeAlias, get_args

from attrs import frozen

from mnemic.kernel.errors import FieldRefused
from mnemic.kernel.model.identity import (
    BlockId,
    DecisionId,
    PolicyId,
    short,
)
from mnemic.kernel.model.periods import HOLDS
from mnemic.kernel.rendering import cited, escaped, labelled, quoted, render_line
from mnemic.kernel.results.blocks import Block, ContradictedPair, Origin, Replacement
from mnemic.kernel.results.shape import Deferrable, Listing, Result, plural

Detail: TypeAlias = Literal["core", "full"]
"""How much an answer holds: what a caller acts on, or all that explains it as well."""
DETAILS: Final[tuple[Detail, ...]] = get_args(Detail)


@frozen(kw_only=True, str=False)
class Contribution(Result):
    """One signal of one block: its value, its weight, and its contribution to the score."""

    signal: str
    value: float
    weight: float
    contribution: float

    @property
    def summary(self) -> str:
        return f"{self.signal} {self.value:.3f} x {self.weight:.2f} = {self.contribution:.3f}"


@frozen(kw_only=True, str=False)
class ScoredBlock(Deferrable):
    """One returned block, with the signals that explain its score."""

    COLUMNS = ("id", "content", "composite_score", "probability", "author", "created_at", "zone")

    id: BlockId
    content: str
    category: str
    tags: tuple[str, ...] = ()
    author: str | None = None
    thread: str | None = None
    created_at: str | None = None
    valid_from: str | None = None
    """Since when its fact holds; ISO 8601, UTC. None: since ever."""
    valid_until: str | None = None
    """Until when its fact holds, exclusive; ISO 8601, UTC. None: the end is open."""
    validity: str = HOLDS
    """Whether its fact holds at the moment of the recall: ``holds``, ``ended`` or ``later``."""
    zone: str
    source: str
    actor: str
    """Who wrote it: the actor that the log names, which a caller cannot choose."""
    composite_score: float
    relevance_score: float
    recency_score: float
    usefulness_score: float
    confidence_score: float
    frequency_score: float
    centrality_score: float | None = None
    reinforcement_score: float | None = None
    lexical_score: float
    """Share of the query that its text and the texts around it match."""
    cosine_score: float
    """Cosine of its vector with the query vector, at least 0."""
    probability: float | None = None
    """Calibrated probability that it bears on the question; None without a question, and by recipes
    before ``recall-3``. Not to be confused with the confidence with which it was learned."""
    doubtful: bool = False
    """Whether the verdict on the answer is ``no``, so that the block is only the closest match."""
    contributions: tuple[Contribution, ...] = ()
    """Contribution of each signal to the score."""
    relevance_parts: tuple[Contribution, ...] = ()
    """Parts of the strength of the match, by which relevance ranks it among the others."""
    was_expanded: bool = False
    expanded_via: BlockId | None = None
    """The block whose edge led to it."""
    was_explored: bool = False
    """Whether exploration chose it at random, in place of the block ranked for that place."""
    passage: int | None = None
    """Number of the passage that bears on the question most, from 1; None: the text has only one,
    or there is no question. Of a text of many passages, the answer's text shows it alone."""
    tokens: int

    @property
    def score(self) -> float:
        """The composite score."""
        return self.composite_score

    @property
    def summary(self) -> str:
        line = cited(
            self.id,
            self.content,
            zone=self.zone,
            actor=self.actor,
            author=self.author,
            created_at=self.created_at,
            validity=self.validity,
            valid_from=self.valid_from,
            valid_until=self.valid_until,
        )
        return render_line(line)


@frozen(kw_only=True, str=False)
class Dropped(Result):
    """A block that is not in the answer although a reader may expect it, and the reason."""

    id: BlockId
    score: float | None = None
    """None if it was never scored."""
    reason: str
    """``top_k``, ``token_budget``, ``zone_full`` (its zone has used its share), ``min_probability``
    (it hardly bears on the question), ``explored`` (exploration gave its place to another),
    ``superseded`` by a returned block, or ``filter``: the frame guarantees it a place and the
    caller's filter excludes it."""
    superseded_by: BlockId | None = None

    @property
    def summary(self) -> str:
        score = "" if self.score is None else f" {self.score:.3f}"
        by = "" if self.superseded_by is None else f" by {short(self.superseded_by)}"
        return f"{short(self.id)}{score} dropped: {self.reason}{by}"


@frozen(kw_only=True, str=False)
class SuggestedConnection(Result):
    """Two blocks that may be worth connecting. Whether and how is for the agent to decide."""

    source_id: BlockId
    """The end that was returned; if both were, the one that ranked better."""
    target_id: BlockId
    source_content: str
    """At most 120 characters of it, on one line."""
    target_content: str
    source_origin: Origin
    """Where the text of the source comes from."""
    target_origin: Origin
    reason: str
    suggested_relation: str
    """``co_occurs`` or ``similar``, from what is recorded. An agent may know a better one."""
    confidence: float
    """In [0, 1]. For ``similar`` the cosine; for ``co_occurs`` the sessions in which the two were
    returned together, as a share of the number that creates an edge automatically."""

    @property
    def summary(self) -> str:
        source = f"{quoted(self.source_content)}{self.source_origin.mark}"
        target = f"{quoted(self.target_content)}{self.target_origin.mark}"
        return (
            f"{short(self.source_id)} {source} and {short(self.target_id)} {target}: "
            f"{escaped(self.reason)}. "
            f"Suggested relation: {labelled(self.suggested_relation)}. "
            f"Confidence: {self.confidence:.2f}"
        )


@frozen(kw_only=True, str=False)
class RecallResult(Listing, Deferrable):
    """Answer of a recall: the blocks, why each was returned, and a text to put into a prompt.

    It iterates over the blocks, best first, and has their number as its length.
    """

    LISTED = "blocks"

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
    """The version at which the answer was computed."""
    hour: float
    """The active hours at which the answer was computed."""
    digest: str
    """Digest of the ordered ids and scores."""
    policy_id: PolicyId
    retriever: str = "exact"
    """Method of vector search: ``exact``, over all vectors, or ``ann``, by an approximate search,
    which may have missed some."""
    answerable: float | None = None
    """Calibrated probability that memory answers the question, by its best blocks, returned or not;
    None without a question, and by recipes before ``recall-3``."""
    verdict: str = ""
    """``yes``, ``weak`` or ``no``: what ``answerable`` means by the policy; "" where it is None."""
    superseded: tuple[Replacement, ...] = ()
    """Supersessions by the returned blocks."""
    contradictions: tuple[ContradictedPair, ...] = ()
    """Contradictions of the returned blocks, by blocks that are returned or not."""
    waiting: int = 0
    """Number of blocks that were learned by then and not yet promoted, which are not searched."""
    propensity: float = 1.0
    """Probability of this answer; below 1 only with exploration (``explore``)."""
    warnings: tuple[str, ...] = ()
    suggested_connections: tuple[SuggestedConnection, ...] = ()
    """Highest confidence first; empty unless requested with ``suggest=True``."""

    @property
    def block_ids(self) -> tuple[BlockId, ...]:
        """Ids of the returned blocks, best first."""
        return tuple([block.id for block in self.blocks])

    def to_dict(self) -> dict[str, Any]:
        """Return the fields and ``block_ids`` as plain values."""
        return {**super().to_dict(), "block_ids": list(self.block_ids)}

    @property
    def summary(self) -> str:
        ids = ", ".join(short(block) for block in self.block_ids)
        how = " by approximate search" if self.retriever == "ann" else ""
        doubt = ", none of which seems to bear on the question" if self.verdict == "no" else ""
        found = plural(len(self.blocks), "block")
        waiting = f" {plural(self.waiting, 'block')} not yet promoted." if self.waiting else ""
        return f"Recalled {found}{how}{doubt if ids else ''}{': ' + ids if ids else ''}.{waiting}"


@frozen(kw_only=True, str=False)
class CalibrateResult(Result):
    """Probabilities fitted to the outcomes of a space, and the policy that holds them."""

    policy_id: PolicyId
    """The policy now in force."""
    before_id: PolicyId
    """The one before; the same if the fit changed nothing."""
    useful: int
    """Returned blocks that were judged useful."""
    useless: int
    """Returned blocks that were judged useless."""
    decisions: int
    """Recalls that these were returned by."""
    slope: float
    """Factor on the default log-odds; below 1: the default probabilities are overconfident here."""
    shift: float
    """Offset on the default log-odds; below 0: the default probabilities are too high here."""
    answerable_fitted: bool
    """Whether ``answerable`` was fitted too; otherwise it is unchanged."""
    log_loss_before: float
    """Mean log loss of the probabilities on these judgments, by the policy before."""
    log_loss_after: float

    @property
    def summary(self) -> str:
        judged = f"{plural(self.useful + self.useless, 'judged block')}, {self.useful} useful"
        if self.policy_id == self.before_id:
            return f"Probabilities are as {judged} say: nothing was changed."
        return (
            f"Adopted {self.policy_id}, calibrated to {judged}: "
            f"log loss {self.log_loss_before:.3f} to {self.log_loss_after:.3f}."
        )


@frozen(kw_only=True, str=False)
class Difference(Result):
    """One block in which a replay differs from its record."""

    block_id: BlockId
    change: str
    """``entered``, ``left``, ``moved``, ``score`` (same place, other score) or ``signals`` (same
    score, made of other signals)."""
    recorded_rank: int | None
    """From 1; None if it is not in the record."""
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
    """Result of computing a past decision again."""

    decision_id: DecisionId
    outcome: str
    """``reproduced``, ``differs``, ``sealed`` if text it could see was erased since, or ``lost`` if
    text it could see is missing although it was not erased."""
    version: int
    hour: float
    recorded_digest: str
    replayed_digest: str | None
    """None when sealed or lost: the answer cannot be computed, only checked."""
    recombines: bool
    """Whether the stored signals add up to the stored scores and digest."""
    differences: tuple[Difference, ...] = ()
    cause: str | None = None
    """The cause in a sentence; None if it was reproduced."""
    suspect: str | None = None
    """Category of the cause if it differs: ``policy`` or ``embedder`` (the view has another one
    than the record names), ``record`` (the stored values are not consistent), or ``state`` (they
    are, so the state that it read must be different today: because of another release's projections
    or recipe, or a log that was overwritten); ``without`` if blocks were left out on request."""
    recall: RecallResult | None = None
    """The answer as computed again; None when sealed or lost."""

    @property
    def summary(self) -> str:
        where = f"{self.decision_id} as of version {self.version}"
        if self.outcome == "reproduced":
            return f"Reproduced {where}, digest {self.recorded_digest}."
        if self.outcome == "sealed":
            return f"Sealed: {where} cannot be computed again; {self.cause}."
        if self.outcome == "lost":
            return f"Lost: {where} cannot be computed again; {self.cause}."
        return f"{plural(len(self.differences), 'difference')} in {where}: {self.cause}."


def checked_detail(detail: object) -> Detail:
    """Return how much an answer is to hold; None: everything.

    Raises:
        FieldRefused: It is none of the words for it.
    """
    for each in DETAILS:
        if detail == each:
            return each
    if detail is None:
        return "full"
    raise FieldRefused(
        f"detail must be one of {', '.join(DETAILS)}, got {detail!r:.80}", field="detail"
    )
