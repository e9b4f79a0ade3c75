"""What verbs answer: frozen values with one line of summary and a plain dict.

Field names follow the seeds' result types and only ever gain company. Scores that were integers
of nano-units inside are numbers in [0, 1] here, exact to nine decimals.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
from attrs import field, frozen

from mnemic.kernel.arithmetic import NANO
from mnemic.kernel.identity import BlockId, DecisionId, PolicyId, SessionId, short


def unit(nano_units: int) -> float:
    """Return nano-units as the number they stand for."""
    return nano_units / NANO


def _plain(value: Any) -> Any:
    """Return *value* with every result, tuple and mapping in it made plain."""
    if isinstance(value, Result):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {key: _plain(entry) for key, entry in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(entry) for entry in value]
    return value


@frozen(kw_only=True)
class Result:
    """Base of all results."""

    @property
    def summary(self) -> str:
        """One line for a person or a model."""
        return type(self).__name__

    def __str__(self) -> str:
        return self.summary

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain values, ready for JSON."""
        return {
            entry.name: _plain(getattr(self, entry.name)) for entry in attrs.fields(type(self))
        }


def plural(count: int, noun: str) -> str:
    """Return ``1 edge``, ``2 edges``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


@frozen(kw_only=True)
class Refusal(Result):
    """One item of a batch that was refused; the others went on."""

    position: int
    """Its place in the batch, from 0."""
    id: str | None = None
    code: str
    detail: str
    recovery: str = ""

    @property
    def summary(self) -> str:
        return f"{self.code}: {self.detail}"


# --- blocks ---------------------------------------------------------------------------------


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

    @property
    def summary(self) -> str:
        what = "Space" if self.block_id is None else f"Block {short(self.block_id)}"
        return f"{what} erased at version {self.version}."


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
class Edge(Result):
    """One edge as a view shows it."""

    source_id: BlockId
    target_id: BlockId
    relation: str
    weight: float
    effective_weight: float
    """At the view's hour."""
    origin: str
    anchor_hour: float | None = None
    reinforcement_count: int = 0
    note: str | None = None

    @property
    def summary(self) -> str:
        return (
            f"{short(self.source_id)} -{self.relation}-> {short(self.target_id)} "
            f"(weight {self.weight:.2f}, now {self.effective_weight:.2f}, {self.origin})"
        )


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


# --- edges ----------------------------------------------------------------------------------


@frozen(kw_only=True, str=False)
class DisplacedEdge(Result):
    from_id: BlockId
    to_id: BlockId
    relation: str
    weight: float

    @property
    def summary(self) -> str:
        ends = f"{short(self.from_id)}..{short(self.to_id)}"
        return f"{self.relation} {ends} (weight {self.weight:.2f})"


@frozen(kw_only=True, str=False)
class ConnectResult(Result):
    source_id: BlockId
    target_id: BlockId
    relation: str
    weight: float
    """As stored."""
    action: str
    """``created``, ``reinforced``, ``updated``, ``skipped`` or ``deferred``."""
    note: str | None = None
    displaced_edge: DisplacedEdge | None = None
    """The first of ``displaced_edges``."""
    displaced_edges: tuple[DisplacedEdge, ...] = ()
    deferred_note: str | None = None
    warnings: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        ends = f"{short(self.source_id)}…→{short(self.target_id)}…"
        line = f"{self.action.title()} {self.relation} edge: {ends} (weight={self.weight:.2f})"
        for displaced in self.displaced_edges:
            line += f". Displaced {displaced.relation} edge to fit the degree cap"
        return line


@frozen(kw_only=True, str=False)
class DisconnectResult(Result):
    source_id: BlockId
    target_id: BlockId
    action: str
    """``removed``, ``not_found`` or ``guarded``."""
    removed_relation: str | None = None
    removed_weight: float | None = None

    @property
    def summary(self) -> str:
        ends = f"{short(self.source_id)}…→{short(self.target_id)}…"
        if self.action == "removed":
            return f"Removed {self.removed_relation or 'pending'} edge: {ends}"
        if self.action == "guarded":
            return f"Edge not removed: {ends} is of another relation than guard_relation."
        return f"No edge found between {ends}"


# --- recall ---------------------------------------------------------------------------------


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


# --- feedback and upkeep --------------------------------------------------------------------


@frozen(kw_only=True, str=False)
class OutcomeResult(Result):
    updated: tuple[BlockId, ...]
    signal: float
    weight: float
    reinforced: int = 0
    penalised: int = 0
    edges_created: int = 0
    edges_confirmed: int = 0
    edges_without_room: tuple[tuple[BlockId, BlockId], ...] = ()
    displaced_edges: tuple[DisplacedEdge, ...] = ()
    refused: tuple[Refusal, ...] = ()

    @property
    def summary(self) -> str:
        parts = [f"{plural(len(self.updated), 'block')} scored {self.signal:.2f}"]
        if self.edges_created:
            parts.append(f"{plural(self.edges_created, 'edge')} created")
        if self.edges_confirmed:
            parts.append(f"{plural(self.edges_confirmed, 'edge')} confirmed")
        if self.penalised:
            parts.append(f"{self.penalised} penalised")
        if self.refused:
            parts.append(f"{len(self.refused)} refused")
        return f"Outcome: {', '.join(parts)}."


ESCALATION = 0.25
"""Share of the graph that may go in one sweep before the summary warns. Source: seed 004."""


@frozen(kw_only=True, str=False)
class CurateResult(Result):
    archived: int = 0
    edges_pruned: int = 0
    edges_decayed: int = 0
    total_edges_after: int = 0
    reinforced: int = 0
    constitutional_reinforced: int = 0
    pending_admitted: int = 0

    @property
    def summary(self) -> str:
        parts = [
            f"{count} {words}"
            for count, words in (
                (self.archived, "archived"),
                (self.edges_pruned, "edges pruned"),
                (self.edges_decayed, f"edges decayed ({self.total_edges_after} remain)"),
                (self.pending_admitted, "pending admitted"),
                (self.reinforced, "reinforced"),
                (self.constitutional_reinforced, "constitutional reinforced"),
            )
            if count
        ]
        if not parts:
            return "Curated: nothing required."
        return f"Curated: {', '.join(parts)}.{self._advice()}"

    def _advice(self) -> str:
        if not self.edges_decayed:
            return ""
        gone = self.edges_pruned + self.edges_decayed
        before = gone + self.total_edges_after - self.pending_admitted
        if gone / max(before, 1) > ESCALATION:
            return (
                " The graph shrank by more than a quarter: "
                "run consolidate(relink=True) now to rebuild it."
            )
        return " Tip: consolidate(relink=True) finds new edges for blocks in use."


# --- sessions and status --------------------------------------------------------------------


@frozen(kw_only=True, str=False)
class SessionResult(Result):
    session_id: SessionId
    action: str
    """``started`` or ``ended``."""
    hour: float
    """Active hours at that moment."""

    @property
    def summary(self) -> str:
        return f"Session {short(self.session_id)} {self.action} at {self.hour:.2f} active hours."


@frozen(kw_only=True, str=False)
class Moment(Result):
    """One event behind something, for ``history`` and the log."""

    version: int
    hour: float
    recorded_at: str
    """ISO 8601, UTC."""
    kind: str
    """Stable name of the event, without its version."""
    actor: str = "agent"
    session_id: SessionId | None = None
    detail: str = ""

    @property
    def summary(self) -> str:
        return f"v{self.version} {self.hour:9.3f} h {self.recorded_at} {self.kind} {self.detail}"


@frozen(kw_only=True, str=False)
class Status(Result):
    space: str
    version: int
    hour: float
    recorded_at: str | None = None
    """Of the last event; ISO 8601, UTC."""
    inbox: int = 0
    active: int = 0
    archived: int = 0
    edges: int = 0
    pending_connections: int = 0
    near_duplicates: int = 0
    decisions: int = 0
    open_sessions: tuple[SessionId, ...] = ()
    policy: str = ""
    policy_id: PolicyId | None = None
    frames: tuple[str, ...] = ()
    embedder: str | None = None
    exact: bool = True
    """Whether asking again gives the same answer: true for every view but the live one."""
    alerts: tuple[str, ...] = field(default=())

    @property
    def summary(self) -> str:
        return (
            f"{self.space}: {self.active} active, {self.inbox} in the inbox, "
            f"{self.archived} archived, {plural(self.edges, 'edge')}; "
            f"version {self.version} at {self.hour:.2f} active hours."
        )


@frozen(kw_only=True, str=False)
class Verification(Result):
    """What a walk over the whole log found."""

    events: int
    head: str
    """Chain digest of the last sound event, hex."""
    sound: bool
    first_bad_version: int | None = None
    problem: str | None = None
    payloads: int = 0
    erased_payloads: int = 0

    @property
    def summary(self) -> str:
        if self.sound:
            return f"Sound: {plural(self.events, 'event')}, head {self.head[:16]}."
        return f"Damaged at version {self.first_bad_version}: {self.problem}"
