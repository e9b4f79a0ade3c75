"""The state of a log, applied event by event.

Every rule here is a sentence of the contract. Events are trusted: what an event lists is applied,
and nothing is decided again. Two effects are applied that no event lists, because they follow from
it: an archived block loses its edges, pending connections and staged pairs; and a pair that has an
edge is not staged.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any, assert_never

from mnemic.kernel import events as happened
from mnemic.kernel.erasure import without_payloads
from mnemic.kernel.events import EmbedderIdentity, Link, Recorded, Supersession
from mnemic.kernel.model.identity import BlockId, CompositionId, composition_id
from mnemic.kernel.model.texts import (
    AnalysisText,
    BlockText,
    Embedding,
    Erased,
    Remark,
)
from mnemic.kernel.numeric.arithmetic import NANO, nano
from mnemic.kernel.numeric.retention import AGAIN, GOOD
from mnemic.kernel.policy import DEFAULT, Policy
from mnemic.specs.reference.clock import PlainClock
from mnemic.specs.reference.records import (
    LIFE,
    STRENGTH,
    Pair,
    PlainBlock,
    PlainComposition,
    PlainEdge,
    PlainLabel,
    PlainPending,
    pair,
    plain,
    without_texts,
)
from mnemic.specs.reference.scoring import times


class PlainState:
    """The complete state after the events applied so far."""

    def __init__(self) -> None:
        self.log: list[Recorded] = []
        self.clock = PlainClock()
        """Independent count of active time, compared with that of the events."""
        self.policy: Policy = DEFAULT
        self.embedder: EmbedderIdentity | None = None
        self.order: list[BlockId] = []
        """Ids by number."""
        self.blocks: dict[BlockId, PlainBlock] = {}
        self.edges: dict[Pair, PlainEdge] = {}
        self.linked: dict[Pair, None] = {}
        """Every pair that ever had an edge, in the order of the first one."""
        self.pending: dict[Pair, PlainPending] = {}
        """Pending connections in the order in which they were last deferred."""
        self.barred: set[Pair] = set()
        self.near: dict[Pair, int] = {}
        """Cosine of near-duplicates, as first seen."""
        self.staged: dict[Pair, list[str]] = {}
        """Sessions in which a pair was returned together; the last staged is last."""
        self.staged_version: dict[Pair, int] = {}
        """Version at which a pair was last staged."""
        self.used: dict[Pair, set[str]] = {}
        """Sessions in which a recall refreshed the pair's current or an earlier edge."""
        self.sessions: dict[str, dict[str, Any]] = {}
        self.curated_us: int | None = None
        """Active time of the last sweep."""
        self.vectors_staged: dict[EmbedderIdentity, dict[BlockId, tuple[bytes | None, int]]] = {}
        """Vector and typicality by block."""
        self.compositions: dict[CompositionId, PlainComposition] = {}
        """In the order in which they were composed."""
        self.extractions: dict[int, happened.FactsExtracted] = {}
        """By version, without the texts that only the log keeps."""
        self.space_erased = False

    # --- queries --------------------------------------------------------------------------------

    @property
    def version(self) -> int:
        """The last version applied, -1 before the first."""
        return len(self.log) - 1

    @property
    def active_us(self) -> int:
        """Active time of the last event."""
        return self.log[-1].active_us if self.log else 0

    def with_status(self, status: str) -> list[BlockId]:
        """Return the blocks that are ``inbox``, ``active``, ``archived`` or ``quarantined``."""
        return [block for block in self.order if self.blocks[block].status == status]

    def is_constitutional(self, block: BlockId) -> bool:
        """Return whether a block is constitutional: by its tags, if its zone grants privileges."""
        facts = self.blocks[block]
        return "self/constitutional" in facts.tags and self.policy.privileges(facts.zone)

    def inbox(self) -> list[BlockId]:
        """Return the blocks of the inbox, first in first."""
        return sorted(
            self.with_status("inbox"), key=lambda block: self.blocks[block].learned_version
        )

    def edges_of(self, block: BlockId) -> list[Pair]:
        """Return the pairs of a block's edges, in the order in which they were first linked."""
        return [ends for ends in self.linked if block in ends and ends in self.edges]

    def staging_order(self) -> list[Pair]:
        """Return the staged pairs in the order of eviction: fewest sessions, then age, then id."""
        return sorted(
            self.staged,
            key=lambda ends: (len(self.staged[ends]), self.staged_version[ends], ends),
        )

    def copy(self) -> PlainState:
        """Return an independent copy."""
        frozen = {id(event): event for event in (*self.log, self.policy)}
        return copy.deepcopy(self, frozen)

    def snapshot(self) -> dict[str, Any]:
        """Return the whole state as nested dicts with sorted keys, for comparison."""
        return {
            "active_us": self.active_us,
            "barred": plain(self.barred),
            "blocks": plain(self.blocks),
            "clock": plain(self.clock),
            "compositions": plain(self.compositions),
            "curated_us": self.curated_us,
            "edges": plain(self.edges),
            "embedder": plain(self.embedder),
            "extractions": plain(self.extractions),
            "near": plain(self.near),
            "order": list(self.order),
            "pending": [plain(waiting) for waiting in self.pending.values()],
            "policy": self.policy.id,
            "sessions": plain(self.sessions),
            "space_erased": self.space_erased,
            "staged": plain(self.staged),
            "staging_order": self.staging_order(),
            "used": plain(self.used),
            "version": self.version,
        }

    # --- events ---------------------------------------------------------------------------------

    def apply(self, recorded: Recorded) -> None:  # noqa: C901, PLR0912, PLR0915 - a case per event
        """Apply the next event."""
        self.log.append(recorded)
        self.clock.event(recorded.session_id, recorded.recorded_us, self.policy.gap_us)
        now = recorded.active_us
        match recorded.event:
            case happened.SpaceOpened():
                pass
            case happened.PolicyAdopted(body=body):
                self._adopt_policy(Policy.parse(body))
            case happened.EmbedderAdopted(embedder=embedder):
                self._adopt(embedder)
            case happened.SpaceErased():
                self._refold(owner=None)
                self.space_erased = True
            case happened.SessionStarted(session_id=session):
                self.clock.start(session, recorded.recorded_us)
                self.sessions[session] = {"open": True, "started": recorded.version}
            case happened.SessionEnded(session_id=session):
                self.clock.end(session)
                self.sessions[session]["open"] = False
            case happened.BlockLearned() as event:
                self._learn(event, recorded)
            case happened.BlockRestated() as event:
                self._restate(event, recorded)
            case happened.BlocksPromoted() as event:
                self._promote(event, recorded)
            case happened.BlocksRelinked(links=links):
                self._link(links, "similar", "similarity", now)
            case happened.BlockSuperseded(supersession=supersession):
                self._supersede(supersession)
            case happened.BlockForgotten(block_id=block):
                self.archive(block, "forgotten")
            case happened.BlockErased(block_id=block):
                self._refold(owner=block)
                self.archive(block, "erased")
            case happened.BlockRezoned(block_id=block, zone=zone, rate=rate):
                self.blocks[block].zone = zone
                if rate is not None:
                    self.blocks[block].rate = self.blocks[block].tier_rate = rate
            case happened.BlocksQuarantined(block_ids=ids, released=released):
                for block in ids:
                    self.blocks[block].quarantined = not released
            case happened.VectorsStaged(embedder=embedder, vectors=vectors):
                staged = self.vectors_staged.setdefault(embedder, {})
                for entry in vectors:
                    staged[entry.block_id] = _packed(entry.vector), entry.typicality
            case happened.EdgeConnected() as event:
                self._connect(event, now)
            case happened.EdgeDeferred() as event:
                self._defer(event)
            case happened.EdgeDisconnected(source=source, target=target):
                ends = pair(source, target)
                self._drop_edge(ends)
                self.pending.pop(ends, None)
                self.staged.pop(ends, None)
                self.barred.add(ends)
            case happened.RecallRecorded() as event:
                self._recall(event, recorded)
            case happened.BlocksComposed() as event:
                name = event.composition_id or composition_id(recorded.version)
                self.compositions[name] = PlainComposition(version=recorded.version, event=event)
            case happened.CompositionLabelled() as event:
                labels = self.compositions[event.composition_id].labels
                labels[recorded.version] = PlainLabel(event=event, active_us=now)
            case happened.LabelRetracted() as event:
                labels = self.compositions[event.composition_id].labels
                labels[event.label_version].retracted = recorded.version
            case happened.FactsExtracted() as event:
                self.extractions[recorded.version] = without_texts(event)
            case happened.OutcomeRecorded() as event:
                self._score(event, recorded)
            case happened.LossAccepted():
                pass  # what is lost is missing from the events before it
            case happened.Curated() as event:
                self._curate(event, now)
            case happened.Reverted() as event:
                self._put_back(event, recorded.version)
            case _:
                assert_never(recorded.event)

    def _refold(self, *, owner: str | None) -> None:
        """Replay the log without the payloads of *owner*."""
        log = erased(self.log, owner=owner)
        fresh = PlainState()
        for recorded in log[:-1]:
            fresh.apply(recorded)
        fresh.log.append(log[-1])
        fresh.clock = self.clock
        self.__dict__.update(fresh.__dict__)

    # --- blocks ---------------------------------------------------------------------------------

    def _learn(self, event: happened.BlockLearned, recorded: Recorded) -> None:
        block = self.blocks.get(event.block_id)
        if block is None:
            prior = nano(self.policy.outcome_prior)
            block = PlainBlock(number=len(self.order), alpha=prior, beta=prior)
            self.blocks[event.block_id] = block
            self.order.append(event.block_id)
        text = event.text if isinstance(event.text, BlockText) else None
        block.base = "inbox"
        block.reason = block.successor = block.summary = block.vector = None
        block.content = text.content if text else None
        block.tags = text.tags if text else ()
        block.author = text.author if text else None
        block.thread = text.thread if text else None
        block.metadata = text.metadata if text else None
        block.category = event.category
        block.source = event.source
        block.zone = event.zone
        block.confidence = event.confidence
        block.created_at_us = event.created_at_us
        if event.created_at_us is None and not event.undated:
            block.created_at_us = recorded.recorded_us
        block.expires_at_us = event.expires_at_us
        block.valid_from_us = event.valid_from_us
        block.valid_until_us = event.valid_until_us
        block.learned_version = block.said_version = recorded.version
        block.learned_us = recorded.active_us
        block.actor = recorded.actor
        block.session = recorded.session_id
        block.tier_rate = 0

    def _restate(self, event: happened.BlockRestated, recorded: Recorded) -> None:
        block = self.blocks[event.block_id]
        block.said_version = recorded.version
        if not event.undated:
            block.created_at_us = event.said_us
            if event.said_us is None:
                block.created_at_us = recorded.recorded_us
        if event.valid_from_us is not None or event.valid_until_us is not None:
            block.valid_from_us = event.valid_from_us
            block.valid_until_us = event.valid_until_us

    def _promote(self, event: happened.BlocksPromoted, at: Recorded) -> None:
        now = at.active_us
        for promotion in event.promotions:
            block = self.blocks[promotion.block_id]
            block.base = "active"
            block.vector, block.typicality = _packed(promotion.vector), promotion.typicality
            block.rate = block.tier_rate = promotion.rate
            if isinstance(promotion.analysis, AnalysisText):
                block.tags = tuple(sorted({*block.tags, *promotion.analysis.tags}))
                block.summary = promotion.analysis.summary
            self._reinforce(promotion.block_id, now)
            block.reviews.append((at.version, now, GOOD))
            if promotion.supersession is not None:
                self._supersede(promotion.supersession)
        for near in event.near:
            self.near.setdefault(pair(near.block_id, near.other), near.cosine)
        self._link(event.links, "similar", "similarity", now)

    def _supersede(self, event: Supersession) -> None:
        old, new = self.blocks[event.old], self.blocks[event.new]
        for other in event.moved:
            edge = self.edges.pop(pair(event.old, other))
            if edge.source == event.old:
                edge.source = event.new
            else:
                edge.target = event.new
            self.put_edge(edge)
        room = max(0, self.policy.tags_max - len(new.tags))
        taken = [tag for tag in sorted(old.tags) if tag not in new.tags][:room]
        new.tags = tuple(sorted([*new.tags, *taken]))
        for block, sign in ((old, -1), (new, 1)):  # evidence moves, so nothing counts twice
            block.alpha += sign * event.alpha
            block.beta += sign * event.beta
            block.retrievals += sign * event.retrievals
        if event.rate is not None:
            new.rate = new.tier_rate = event.rate
        self.archive(event.old, "superseded")
        old.successor = event.new

    def archive(self, block: BlockId, reason: str) -> None:
        """Archive a block and remove its edges, pending connections and staged pairs."""
        self.blocks[block].base = "archived"
        self.blocks[block].reason = reason
        self._isolate(block)

    def _isolate(self, block: BlockId) -> None:
        for kept in (self.edges, self.pending, self.staged):
            for ends in [ends for ends in kept if block in ends]:
                del kept[ends]

    def _reinforce(self, block: BlockId, now: int) -> None:
        self.blocks[block].reinforcements += 1
        self.blocks[block].reinforced_us = now

    def _adopt_policy(self, policy: Policy) -> None:
        """Make *policy* current: its prior applies to every block, including existing ones."""
        shift = nano(policy.outcome_prior) - nano(self.policy.outcome_prior)
        for block in self.blocks.values():
            block.alpha += shift
            block.beta += shift
        self.policy = policy

    def _adopt(self, embedder: EmbedderIdentity) -> None:
        self.embedder = embedder
        for block, staged in self.vectors_staged.pop(embedder, {}).items():
            self.blocks[block].vector, self.blocks[block].typicality = staged

    # --- edges ----------------------------------------------------------------------------------

    def put_edge(self, edge: PlainEdge) -> None:
        """Set *edge* as the edge of its pair."""
        ends = pair(edge.source, edge.target)
        self.edges[ends] = edge
        self.linked.setdefault(ends)
        self.staged.pop(ends, None)

    def _drop_edge(self, ends: Pair) -> None:
        self.edges.pop(ends, None)

    def _use(self, ends: Pair, now: int) -> None:
        self.edges[ends].count += 1
        self.edges[ends].anchor_us = now

    def _link(self, links: Iterable[Link], relation: str, origin: str, now: int) -> None:
        for link in links:
            for ends in link.displaced:
                self._drop_edge(pair(*ends))
            self.put_edge(
                PlainEdge(
                    source=link.source,
                    target=link.target,
                    relation=link.relation or relation,
                    weight=link.weight,
                    origin=origin,
                    anchor_us=now,
                )
            )

    def _connect(self, event: happened.EdgeConnected, now: int) -> None:
        for ends in event.displaced:
            self._drop_edge(pair(*ends))
        ends = pair(event.source, event.target)
        before = self.edges.get(ends)
        note = _words(event.note)
        if event.note is None and before is not None:
            note = before.note
        self.put_edge(
            PlainEdge(
                source=event.source,
                target=event.target,
                relation=event.relation,
                weight=event.weight,
                origin=event.origin,
                anchor_us=now,
                count=event.count,
                note=note,
            )
        )
        self.pending.pop(ends, None)
        self.barred.discard(ends)

    def _defer(self, event: happened.EdgeDeferred) -> None:
        ends = pair(event.source, event.target)
        self.barred.discard(ends)
        self.pending.pop(ends, None)
        self.pending[ends] = PlainPending(
            source=event.source,
            target=event.target,
            relation=event.relation,
            weight=event.weight,
            note=_words(event.note),
        )

    # --- decisions and feedback -----------------------------------------------------------------

    def _recall(self, event: happened.RecallRecorded, recorded: Recorded) -> None:
        for row in event.answer.rows:
            block = self.blocks[self.order[row.block]]
            block.retrievals += 1
            block.frames[event.frame] = block.frames.get(event.frame, 0) + 1
        for a, b in event.staged:
            ends = pair(self.order[a], self.order[b])
            sessions = self.staged.pop(ends, [])
            self.staged[ends] = [*sessions, recorded.session_id or ""]
            self.staged_version[ends] = recorded.version
        for a, b in event.linked:
            self.put_edge(
                PlainEdge(
                    source=self.order[a],
                    target=self.order[b],
                    relation="co_occurs",
                    weight=nano(self.policy.co_retrieval_weight),
                    origin="co_retrieval",
                    anchor_us=recorded.active_us,
                )
            )
        for a, b in event.refreshed:
            ends = pair(self.order[a], self.order[b])
            self._use(ends, recorded.active_us)
            self.used.setdefault(ends, set()).add(recorded.session_id or "")
        for a, b in event.evicted:
            del self.staged[pair(self.order[a], self.order[b])]

    def _score(self, event: happened.OutcomeRecorded, at: Recorded) -> None:
        now = at.active_us
        failed = event.signal < nano(self.policy.outcome_penalises_below)
        for block in event.block_ids:
            self.blocks[block].alpha += times(event.signal, event.weight)
            self.blocks[block].beta += times(NANO - event.signal, event.weight)
            if event.reinforced:
                self._reinforce(block, now)
                self.blocks[block].reviews.append((at.version, now, GOOD))
            elif failed:
                self.blocks[block].reviews.append((at.version, now, AGAIN))
        self._link(event.links, "outcome", "outcome", now)
        for ends in event.confirmed:
            self._use(pair(*ends), now)
        for penalty in event.penalties:
            self.blocks[penalty.block_id].rate = penalty.rate

    def _curate(self, event: happened.Curated, now: int) -> None:
        self.curated_us = now
        for archival in event.archived:
            self.archive(archival.block_id, archival.reason)
        for ends in (*event.pruned, *event.decayed):
            self._drop_edge(pair(*ends))
        for admission in event.admitted:
            waiting = self.pending.pop(pair(admission.source, admission.target))
            self.put_edge(
                PlainEdge(
                    source=waiting.source,
                    target=waiting.target,
                    relation=waiting.relation,
                    weight=waiting.weight,
                    origin="agent",
                    anchor_us=now,
                    note=waiting.note,
                )
            )
        for block in (*event.constitutional, *event.reinforced):
            self._reinforce(block, now)

    # --- revert ---------------------------------------------------------------------------------

    def _put_back(self, event: happened.Reverted, version: int) -> None:
        """Restore the state before the range for everything that the event lists."""
        then = fold(self.log[: event.first])
        if event.policy is not None:
            self._adopt_policy(Policy.parse(event.policy))
        for ends in event.unlinked:
            self._drop_edge(ends)
        for ends in event.cancelled:
            del self.pending[ends]
        self.barred.difference_update(event.unbarred)
        self._put_back_blocks(event, then)
        for ends in event.linked:
            self.put_edge(copy.copy(then.edges[ends]))
        for ends in event.deferred:
            self.pending.pop(ends, None)
            self.pending[ends] = copy.copy(then.pending[ends])
        self.barred.update(event.barred)
        self._put_back_labels(event, version)
        for each in event.withdrawn:
            block = self.blocks[each.block_id]
            block.alpha -= each.alpha
            block.beta -= each.beta
            block.retrievals -= each.retrievals

    def _put_back_labels(self, event: happened.Reverted, version: int) -> None:
        for composition in self.compositions.values():
            for set_at, label in composition.labels.items():
                if set_at in event.retracted:
                    label.retracted = version
                if set_at in event.recounted:
                    label.retracted = None

    def _put_back_blocks(self, event: happened.Reverted, then: PlainState) -> None:
        for block in event.lives:
            self._take(block, then.blocks[block], LIFE)
            if then.embedder == self.embedder:
                self.blocks[block].vector = then.blocks[block].vector
                self.blocks[block].typicality = then.blocks[block].typicality
            for vectors in self.vectors_staged.values():
                vectors.pop(block, None)
        for block in event.forgotten:
            self.archive(block, "forgotten")
        prior, prior_then = (nano(each.policy.outcome_prior) for each in (self, then))
        unknown = PlainBlock(number=-1, alpha=prior_then, beta=prior_then)
        for block in event.strength:
            self._take(block, then.blocks.get(block, unknown), STRENGTH)
        for block in event.evidence:
            before, now = then.blocks.get(block, unknown), self.blocks[block]
            now.alpha, now.beta = (
                each - prior_then + prior for each in (before.alpha, before.beta)
            )
            now.reviews = list(before.reviews)
        for block in event.uses:
            self._take(block, then.blocks.get(block, unknown), ("retrievals",))
        for block in event.lives:
            if self.blocks[block].status == "archived":
                self._isolate(block)

    def _take(self, block: BlockId, source: PlainBlock, fields: Iterable[str]) -> None:
        for name in fields:
            setattr(self.blocks[block], name, getattr(source, name))


def fold(log: Iterable[Recorded]) -> PlainState:
    """Return the state after replaying *log*."""
    state = PlainState()
    for recorded in log:
        state.apply(recorded)
    return state


def _packed(vector: Embedding | Erased) -> bytes | None:
    return vector.packed if isinstance(vector, Embedding) else None


def _words(remark: Remark | Erased | None) -> str | None:
    return remark.text if isinstance(remark, Remark) else None


# --- erasure ------------------------------------------------------------------------------------


def erased(log: list[Recorded], *, owner: str | None) -> list[Recorded]:
    """Return *log* without the payloads of *owner*; None: without any payload.

    State derived from a text (tags that were carried over, a note on an edge) must not outlive it,
    or a replay of the log could not give the same state. So the state is not patched: the payloads
    are removed from the log, and it is replayed.
    """
    owners = None if owner is None else (owner,)
    return [without_payloads(recorded, owners) for recorded in log]
