"""Everything that can have happened.

Rules of this module:

1. An event is a fact, already decided: what was matched, scored, displaced or refused is in it.
   A fold gathers facts; it never decides again, calls a model, or reads a clock.
2. ``Event`` is a closed union. A new kind is added here, to the codec's registry, to every fold
   and to the golden corpus, or the build fails.
3. Fields are only ever added, with a default; a change of meaning is a new wire version.
4. No words of a caller and no vector stands in an event itself: those are payloads (``texts``).
5. Numbers are integers: scores, weights, signals and rates in nano-units (1e-9), active time and
   wall clock in microseconds.
"""

from __future__ import annotations

from attrs import frozen

from mnemic.kernel.arithmetic import NANO
from mnemic.kernel.identity import (
    BlockId,
    CommandId,
    CompositionId,
    DecisionId,
    PolicyId,
    SessionId,
    digest,
)
from mnemic.kernel.texts import (
    AnalysisText,
    BlockText,
    CompositionText,
    Embedding,
    Erased,
    LabelText,
    MemberText,
    Question,
    Remark,
    Salt,
)

Pair = tuple[BlockId, BlockId]

# --- the space ------------------------------------------------------------------------------


@frozen(kw_only=True)
class SpaceOpened:
    """The first event of every log. Its nonce makes the chain of every space its own."""

    nonce: str
    """32 random hex characters."""
    salt: Salt | Erased


@frozen(kw_only=True)
class PolicyAdopted:
    policy_id: PolicyId
    body: str
    """The policy's canonical JSON, as adopted; its digest is the id."""


@frozen(kw_only=True)
class EmbedderIdentity:
    """Which model made a vector. Two identities never share a space's index."""

    name: str
    dimension: int
    weights: str = ""
    """Digest of the weights, 16 hex characters, or empty where the model has none."""

    @property
    def id(self) -> str:
        """Digest of the three, 16 hex characters."""
        return digest(f"{self.name}\n{self.dimension}\n{self.weights}".encode())


@frozen(kw_only=True)
class EmbedderAdopted:
    embedder: EmbedderIdentity


@frozen(kw_only=True)
class SpaceErased:
    """Every payload of the space is destroyed with this event."""


@frozen(kw_only=True)
class SessionStarted:
    session_id: SessionId


@frozen(kw_only=True)
class SessionEnded:
    session_id: SessionId


# --- blocks ---------------------------------------------------------------------------------


@frozen(kw_only=True)
class BlockLearned:
    """A block entered the inbox: for the first time, or again after it was archived."""

    block_id: BlockId
    text: BlockText | Erased
    category: str = "knowledge"
    source: str = "api"
    zone: str = "trusted"
    confidence: int = 800_000_000
    """Nano-units, [0, 1]."""
    created_at_us: int | None = None
    """When the content was true or said; None: when it was learned, see the envelope."""
    undated: bool = False
    """Whether its age is not known at all."""
    expires_at_us: int | None = None


@frozen(kw_only=True)
class Supersession:
    """*new* took the place of *old*: old is archived, its evidence lives on in new."""

    old: BlockId
    new: BlockId
    cosine: int | None = None
    """Nano-units; None when a caller asked for it."""
    moved: tuple[BlockId, ...] = ()
    """Other ends of the edges that moved from old to new."""
    lost: tuple[BlockId, ...] = ()
    """Other ends of agent and outcome edges that could not move."""
    alpha: int = 0
    """Outcome evidence carried over, nano-units."""
    beta: int = 0
    retrievals: int = 0
    rate: int | None = None
    """Decay of new from now on, where the tags it took over change its tier."""


@frozen(kw_only=True)
class NearDuplicate:
    """Two active blocks that say almost the same; both stay."""

    block_id: BlockId
    other: BlockId
    cosine: int
    """Nano-units."""


@frozen(kw_only=True)
class Link:
    """An automatic edge that was formed."""

    source: BlockId
    target: BlockId
    weight: int
    """Nano-units, [0, 1]."""
    displaced: tuple[Pair, ...] = ()


@frozen(kw_only=True)
class Promotion:
    block_id: BlockId
    vector: Embedding | Erased
    rate: int = 10_000_000
    """Decay per active hour, nano-units (standard .01)."""
    analysis: AnalysisText | Erased | None = None
    analysed: str = "none"
    """``none`` (no analyst), ``done`` or ``failed``."""
    alignment: int | None = None
    """Self-alignment, nano-units."""
    supersession: Supersession | None = None


@frozen(kw_only=True)
class BlocksPromoted:
    """One committed chunk of a consolidation.

    Applied in this order: each promotion with its supersession, one after the other; then the
    near-duplicates; then the links.
    """

    promotions: tuple[Promotion, ...]
    near: tuple[NearDuplicate, ...] = ()
    links: tuple[Link, ...] = ()


@frozen(kw_only=True)
class BlocksRelinked:
    """``consolidate(relink=True)`` found edges for blocks that had few."""

    links: tuple[Link, ...]


@frozen(kw_only=True)
class BlockSuperseded:
    """A caller revised a block; the new text was learned in the event before."""

    supersession: Supersession
    reason: Remark | Erased | None = None


@frozen(kw_only=True)
class BlockForgotten:
    """Archived on request; the text stays readable in the past."""

    block_id: BlockId
    reason: Remark | Erased | None = None


@frozen(kw_only=True)
class BlockErased:
    """The block's payloads and their keys are destroyed with this event."""

    block_id: BlockId


@frozen(kw_only=True)
class BlockRezoned:
    block_id: BlockId
    zone: str
    reason: Remark | Erased | None = None
    rate: int | None = None
    """Decay per active hour in nano-units, where what its tags grant hangs on the zone; None: as it
    was."""


@frozen(kw_only=True)
class StagedVector:
    block_id: BlockId
    vector: Embedding | Erased


@frozen(kw_only=True)
class VectorsStaged:
    """A chunk of a re-embedding: nothing changes until the embedder is adopted."""

    embedder: EmbedderIdentity
    vectors: tuple[StagedVector, ...]


# --- edges ----------------------------------------------------------------------------------


@frozen(kw_only=True)
class Matched:
    """Which blocks two queries were taken to mean, and how surely."""

    recipe: str
    """How it was found out, such as ``match-1``."""
    source: BlockId
    target: BlockId
    source_confidence: int
    """Nano-units, [0, 1]."""
    target_confidence: int


@frozen(kw_only=True)
class EdgeConnected:
    """An agent connected two blocks. The edge as it now stands, direction included."""

    source: BlockId
    target: BlockId
    relation: str
    weight: int
    action: str
    """``created``, ``reinforced`` or ``updated``."""
    origin: str = "agent"
    count: int = 0
    """Reinforcements so far."""
    note: Remark | Erased | None = None
    """The note as it now stands; None keeps the one before."""
    displaced: tuple[Pair, ...] = ()
    matched: Matched | None = None
    """When the ends were named by queries."""


@frozen(kw_only=True)
class EdgeDeferred:
    """No room and nothing to displace: the connection waits for a curate."""

    source: BlockId
    target: BlockId
    relation: str
    weight: int
    note: Remark | Erased | None = None
    matched: Matched | None = None
    """When the ends were named by queries."""


@frozen(kw_only=True)
class EdgeDisconnected:
    """The pair's edge is gone, its pending connection cancelled, automatic edges barred."""

    source: BlockId
    target: BlockId
    relation: str | None = None
    """Of the removed edge; None when there was only a pending connection."""
    weight: int | None = None
    reason: Remark | Erased | None = None


# --- decisions and feedback -----------------------------------------------------------------

SIGNALS = (
    "relevance",
    "recency",
    "usefulness",
    "confidence",
    "frequency",
    "centrality",
    "reinforcement",
)
"""What a frame may weigh, in the order of every table and every stored row."""


@frozen
class AnswerRow:
    """One returned block of a decision."""

    block: int
    """The block's number: its place in the order of first learning, from 0."""
    score: int
    """Nano-units."""
    signals: tuple[int, ...]
    """One value per name in ``SIGNALS``, then one per part of relevance that the recipe has;
    nano-units, -1 where it was not computed."""
    via: int = -1
    """Number of the block whose edge brought it in; -1 when it was a candidate itself."""


@frozen
class RunnerUp:
    block: int
    score: int


@frozen(kw_only=True)
class Answer:
    """What a recall returned and what just missed. Packed on the wire."""

    rows: tuple[AnswerRow, ...]
    runners_up: tuple[RunnerUp, ...] = ()


@frozen(kw_only=True)
class Exploration:
    """Chance had a say in the last place of an answer, on purpose, so that others can be judged.

    With probability *rate* the last place goes to one of *pool* candidates, all alike: the one
    whose turn it was anyway, and the next ones that would fit in its stead.
    """

    rate: int
    """Nano-units in (0, NANO]."""
    pool: int
    """How many could stand there, >= 1."""
    drawn: int
    """Who does, 0 for the one whose turn it was. Range: [0, pool)."""


@frozen(kw_only=True)
class RecallRecorded:
    """One decision: what was asked, what was known, what was returned."""

    asked: Question | Erased
    vector: Embedding | Erased | None
    """The question's vector, recorded so that a replay never embeds."""
    answer: Answer
    digest: str
    """Of the ordered answer with its scores, 16 hex characters."""
    policy_id: PolicyId
    recipe: str
    read_version: int
    """The log as the search saw it; the event itself comes later."""
    read_us: int
    """Active time at which it was scored."""
    asked_us: int
    """Wall clock at which it was asked."""
    frame: str = "attention"
    top_k: int | None = None
    token_budget: int | None = None
    retriever: str = "exact"
    """How near vectors were found: ``exact`` or ``ann``."""
    propensity: int = NANO
    """How probable this answer was when given, nano-units; below one only after exploring."""
    explored: Exploration | None = None
    """What chance decided; a replay takes it as given."""
    embedder_id: str = ""
    """``EmbedderIdentity.id`` of the one in force; "" without one, and in decisions before release
    0.3.0."""
    staged: tuple[tuple[int, int], ...] = ()
    """Pairs of block numbers that were staged by this recall."""
    linked: tuple[tuple[int, int], ...] = ()
    """Pairs whose third distinct session made a co-occurrence edge."""
    refreshed: tuple[tuple[int, int], ...] = ()
    """Pairs whose edge was used: count + 1 and a fresh anchor."""
    evicted: tuple[tuple[int, int], ...] = ()
    """Pairs that staging had no more place for, in the order in which they went."""
    near: tuple[int, ...] = ()
    """Numbers of the blocks that ``ann`` came upon, rising; a replay takes them as given."""


@frozen(kw_only=True)
class RefusedBlock:
    block_id: str
    code: str


@frozen(kw_only=True)
class Penalty:
    block_id: BlockId
    rate: int
    """The decay from now on, nano-units per active hour."""


@frozen(kw_only=True)
class OutcomeRecorded:
    """How it went. Evidence for every scored block, and what followed from it."""

    block_ids: tuple[BlockId, ...]
    """Scored blocks, sorted."""
    signal: int
    weight: int = NANO
    source: str = ""
    decision_id: DecisionId | None = None
    composition_id: CompositionId | None = None
    refused: tuple[RefusedBlock, ...] = ()
    reinforced: bool = False
    """Whether every scored block was reinforced at this hour."""
    links: tuple[Link, ...] = ()
    """Outcome edges that were formed."""
    confirmed: tuple[Pair, ...] = ()
    """Existing edges: count + 1, fresh anchor, relation and weight kept."""
    unlinked: tuple[Pair, ...] = ()
    """Pairs that found no room."""
    penalties: tuple[Penalty, ...] = ()


# --- compositions ---------------------------------------------------------------------------


@frozen(kw_only=True)
class Member:
    """One block's part in a composition: history, whatever becomes of the block."""

    block_id: BlockId
    role: str
    """One of ``composition.ROLES``."""
    rank: int = 0
    trust: int | None = None
    """As it was then, nano-units."""
    score: int | None = None
    """Nano-units."""
    text: MemberText | Erased | None = None


@frozen(kw_only=True)
class BlocksComposed:
    """Blocks were used together in one piece of reasoning."""

    members: tuple[Member, ...]
    """By rank, role and id."""
    composition_id: CompositionId | None = None
    """None: the id follows from the version."""
    text: CompositionText | Erased | None = None
    tool: str = "compose"
    mode: str = "compose"
    status: str | None = None
    confidence: int | None = None
    """Nano-units, [0, 1]."""
    consume: str = "all"
    """One of ``composition.CONSUMES``."""


@frozen(kw_only=True)
class CompositionLabelled:
    """What came of a composition; any number of labels, each an event of its own."""

    composition_id: CompositionId
    label: str
    """One of ``composition.LABELS``."""
    source: str = "user"
    confidence_delta: int | None = None
    """Nano-units, [-1, 1]."""
    text: LabelText | Erased | None = None


@frozen(kw_only=True)
class LabelRetracted:
    """A label no longer counts; that it did stays in the log."""

    composition_id: CompositionId
    label_version: int
    """Of the event that set it."""
    reason: Remark | Erased | None = None


@frozen(kw_only=True)
class Archival:
    block_id: BlockId
    reason: str
    """``decayed`` or ``expired``."""


@frozen(kw_only=True)
class Admission:
    """A pending connection that found room."""

    source: BlockId
    target: BlockId


@frozen(kw_only=True)
class Curated:
    """One sweep, in the order of its fields."""

    archived: tuple[Archival, ...] = ()
    pruned: tuple[Pair, ...] = ()
    decayed: tuple[Pair, ...] = ()
    admitted: tuple[Admission, ...] = ()
    constitutional: tuple[BlockId, ...] = ()
    reinforced: tuple[BlockId, ...] = ()
    edges_after: int = 0


# --- taking back ----------------------------------------------------------------------------


@frozen(kw_only=True)
class Objection:
    """Something that a revert left as it is, and why."""

    what: str
    """``life``, ``strength``, ``evidence``, ``uses``, ``edge``, ``pending``, ``barred``, ``label``
    or ``policy``."""
    of: tuple[str, ...]
    """The block, the pair, the label or the policy."""
    why: str
    """``touched`` later, ``archived`` (an end is), ``no-room``, ``linked`` (the pair has an edge),
    ``erased``, or ``no-vector`` (of the embedder in force)."""
    version: int | None = None
    """Which event touched it."""


@frozen(kw_only=True)
class Reverted:
    """What a stretch of the log changed was put back, as far as nothing later had touched it.

    To put back is to let stand what stood at the version before *first*; of a block that nobody had
    learned by then, nothing counts. Applied in this order: the policy; edges, pending connections
    and bars that go; blocks, of which those that are archived by it lose what ties them; edges,
    pending connections and bars that come back; labels.
    """

    first: int
    """The stretch, as versions."""
    last: int
    reason: Remark | Erased | None = None
    policy_id: PolicyId | None = None
    policy: str | None = None
    """Canonical JSON of the policy that is in force again."""
    unlinked: tuple[Pair, ...] = ()
    """Edges that go."""
    cancelled: tuple[Pair, ...] = ()
    """Pending connections that go."""
    unbarred: tuple[Pair, ...] = ()
    forgotten: tuple[BlockId, ...] = ()
    """Archived: the stretch learned them."""
    lives: tuple[BlockId, ...] = ()
    """What a block is: status, tags, zone and the like are put back."""
    strength: tuple[BlockId, ...] = ()
    evidence: tuple[BlockId, ...] = ()
    """Outcomes and reviews."""
    uses: tuple[BlockId, ...] = ()
    linked: tuple[Pair, ...] = ()
    """Edges that are put back."""
    deferred: tuple[Pair, ...] = ()
    """Pending connections that are put back, at the end of the queue, in this order."""
    barred: tuple[Pair, ...] = ()
    retracted: tuple[int, ...] = ()
    """Labels that cease to count, by version."""
    recounted: tuple[int, ...] = ()
    """Labels that count again, by version."""
    left: tuple[Objection, ...] = ()


Event = (
    SpaceOpened
    | PolicyAdopted
    | EmbedderAdopted
    | SpaceErased
    | SessionStarted
    | SessionEnded
    | BlockLearned
    | BlocksPromoted
    | BlocksRelinked
    | BlockSuperseded
    | BlockForgotten
    | BlockErased
    | BlockRezoned
    | VectorsStaged
    | EdgeConnected
    | EdgeDeferred
    | EdgeDisconnected
    | RecallRecorded
    | OutcomeRecorded
    | BlocksComposed
    | CompositionLabelled
    | LabelRetracted
    | Curated
    | Reverted
)


@frozen(kw_only=True)
class Recorded:
    """An event with its envelope: where and when it stands in its log."""

    version: int
    active_us: int
    """Active time, microseconds; never decreases along a log."""
    recorded_us: int
    """Wall clock of the machine that wrote it, microseconds since the epoch, UTC. May step back."""
    command_id: CommandId
    event: Event
    actor: str = "agent"
    session_id: SessionId | None = None
    """The session it happened in; None outside of one."""
