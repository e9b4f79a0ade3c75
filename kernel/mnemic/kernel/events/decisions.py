"""Events of recalls, recorded as decisions, and of the outcomes that follow them."""

from __future__ import annotations

from attrs import frozen

from mnemic.kernel.events.edges import Link, Pair
from mnemic.kernel.model.identity import (
    BlockId,
    CompositionId,
    DecisionId,
    PolicyId,
)
from mnemic.kernel.model.texts import Embedding, Erased, Question
from mnemic.kernel.numeric.arithmetic import NANO
from mnemic.kernel.values import Value

SIGNALS = (
    "relevance",
    "recency",
    "usefulness",
    "confidence",
    "frequency",
    "centrality",
    "reinforcement",
)
"""Signals that a frame can weigh, in the order used by every table and every stored row."""


@frozen
class AnswerRow(Value):
    """One returned block of a decision."""

    block: int
    """The block's number: its place in the order of first learning, from 0."""
    score: int
    """Nano-units."""
    signals: tuple[int, ...]
    """One value per name in ``SIGNALS``, then one per part of relevance that the recipe has;
    nano-units, -1 where it was not computed."""
    via: int = -1
    """Number of the block whose edge led to it; -1 when it was a candidate itself."""


@frozen
class RunnerUp(Value):
    block: int
    score: int


@frozen(kw_only=True)
class Answer(Value):
    """The returned blocks of a recall and its runners-up. Packed on the wire."""

    rows: tuple[AnswerRow, ...]
    runners_up: tuple[RunnerUp, ...] = ()

    @property
    def blocks(self) -> list[int]:
        """Numbers of the returned blocks, in the order of the answer."""
        return [row.block for row in self.rows]


@frozen(kw_only=True)
class Exploration(Value):
    """Random choice of the last place of an answer, so that other blocks can be judged too.

    With probability *rate* the last place goes to one of *pool* candidates, chosen uniformly: the
    one ranked for it, and the next ones that would fit in its place.
    """

    rate: int
    """Nano-units in (0, NANO]."""
    pool: int
    """Number of candidates for the place, >= 1."""
    drawn: int
    """Index of the chosen one, 0 for the one ranked for the place. Range: [0, pool)."""


@frozen(kw_only=True)
class RecallRecorded(Value):
    """One decision: the request, the state that was read, and the answer."""

    asked: Question | Erased
    vector: Embedding | Erased | None
    """The query vector, recorded so that a replay never embeds."""
    answer: Answer
    digest: str
    """Digest of the ordered answer with its scores, 16 hex characters."""
    policy_id: PolicyId
    recipe: str
    read_version: int
    """Version of the log that the search read; the event itself has a later one."""
    read_us: int
    """Active time at which it was scored."""
    asked_us: int
    """Wall clock at which it was asked."""
    frame: str = "attention"
    top_k: int | None = None
    token_budget: int | None = None
    retriever: str = "exact"
    """Method of vector search: ``exact`` or ``ann``."""
    propensity: int = NANO
    """Probability of this answer when given, nano-units; below 1.0 only after exploring."""
    explored: Exploration | None = None
    """The random choice, if one was made; a replay uses it as recorded."""
    embedder_id: str = ""
    """``EmbedderIdentity.id`` of the current embedder; "" without one, and in decisions before
    release 0.3.0."""
    staged: tuple[tuple[int, int], ...] = ()
    """Pairs of block numbers that were staged by this recall."""
    linked: tuple[tuple[int, int], ...] = ()
    """Pairs that got a co-occurrence edge with their third distinct session."""
    refreshed: tuple[tuple[int, int], ...] = ()
    """Pairs whose edge was used: count + 1 and a fresh anchor."""
    evicted: tuple[tuple[int, int], ...] = ()
    """Pairs evicted from staging because it was full, in the order of eviction."""
    near: tuple[int, ...] = ()
    """Numbers of the blocks that ``ann`` found, ascending; a replay uses them as recorded."""
    min_probability: int = -1
    """The caller's floor of probability, nano-units; -1: none, the frame's applied."""
    answerable: int = -1
    """Probability that the answer bears on the question, nano-units; -1 without a question, and by
    recipes before ``recall-3``."""
    verdict: str = ""
    """``yes``, ``weak`` or ``no``; "" where ``answerable`` is -1."""
    statistics: tuple[tuple[int, ...], ...] = ()
    """What the answer took from all texts, so that erasing one elsewhere does not change it: the
    strength whose relevance is a half, the number of active texts, the sum of their lengths, and
    for each term of the question the number of texts that contain it, or -1 for an author's name,
    which is not searched for. One for all active blocks and one for those ranked separately, if
    any; none by recipes before ``recall-3``."""


@frozen(kw_only=True)
class RefusedBlock(Value):
    block_id: str
    code: str


@frozen(kw_only=True)
class Penalty(Value):
    block_id: BlockId
    rate: int
    """The new decay rate, nano-units per active hour."""


@frozen(kw_only=True)
class OutcomeRecorded(Value):
    """An outcome: evidence for every scored block, and its effects."""

    block_ids: tuple[BlockId, ...]
    """Scored blocks, sorted."""
    signal: int
    weight: int = NANO
    source: str = ""
    decision_id: DecisionId | None = None
    composition_id: CompositionId | None = None
    refused: tuple[RefusedBlock, ...] = ()
    reinforced: bool = False
    """Whether every scored block was reinforced at this active time."""
    links: tuple[Link, ...] = ()
    """Outcome edges that were formed."""
    confirmed: tuple[Pair, ...] = ()
    """Existing edges: count + 1, fresh anchor, relation and weight kept."""
    unlinked: tuple[Pair, ...] = ()
    """Pairs that got no edge because of the degree cap."""
    penalties: tuple[Penalty, ...] = ()
