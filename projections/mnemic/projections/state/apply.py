"""Event handlers: what each event changes in the state, one function per kind.

Rules of this module:

1. A handler gathers facts. It decides nothing, and raises nothing on a valid log.
2. It must do in columns exactly what ``mnemic.specs.reference.fold`` does in dicts.
3. Everything an event touches is written at that event's version, so that any earlier version
   reads as it was.
4. Erasure changes the past, which no handler can do: a state that contains texts erased since is
   rebuilt from the log, where they read as ``ERASED``.
5. The same functions are used for batches of a long log, where writes to tables become visible at
   the end only. So they read numbers, names and mappings, and leave reading rows to the tables'
   own operations; a kind that cannot is applied alone (``batch_replay``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from mnemic.kernel import events as happened
from mnemic.kernel.events import Link, NearDuplicate, Recorded, Supersession
from mnemic.kernel.model.identity import BlockId
from mnemic.kernel.model.texts import Erased
from mnemic.kernel.numeric.arithmetic import NANO, nano, product
from mnemic.kernel.numeric.retention import AGAIN, GOOD
from mnemic.kernel.policy import Policy
from mnemic.projections.graph.graph import NearDuplicatePair, Pending, key
from mnemic.projections.state.batch import Batch
from mnemic.projections.state.reversals import put_back
from mnemic.projections.state.state import State


def apply(state: State, recorded: Recorded) -> None:
    """Apply the next event."""
    state.is_flushed = False
    state.timeline.record(recorded)
    HANDLERS[type(recorded.event)](state, recorded.event, recorded)


def _opened(state: State, event: happened.SpaceOpened, _: Recorded) -> None:
    state.timeline.salt = None if isinstance(event.salt, Erased) else event.salt.value


def _policy_adopted(state: State, event: happened.PolicyAdopted, at: Recorded) -> None:
    state.timeline.policies.put("policy", at.version, Policy.parse(event.body))


def _embedder_adopted(state: State, event: happened.EmbedderAdopted, at: Recorded) -> None:
    state.timeline.embedders.put("embedder", at.version, event.embedder)
    state.index_of(event.embedder)
    for block, row in state.staged_vectors.pop(event.embedder, {}).items():
        state.catalogue.revector(block, at.version, row)


def _space_erased(state: State, _: happened.SpaceErased, at: Recorded) -> None:
    state.timeline.space_erased = at.version
    state.timeline.salt = None


def _loss_accepted(state: State, event: happened.LossAccepted, _: Recorded) -> None:
    state.timeline.losses.update((each.version, each.slot) for each in event.payloads)


def _session_started(state: State, event: happened.SessionStarted, at: Recorded) -> None:
    state.timeline.start_session(event.session_id, at.version, at.recorded_us)


def _session_ended(state: State, event: happened.SessionEnded, at: Recorded) -> None:
    state.timeline.end_session(event.session_id, at.version)


# --- blocks ---------------------------------------------------------------------------------


def _learned(state: State, event: happened.BlockLearned, at: Recorded) -> None:
    known = len(state.catalogue.ids)
    if state.catalogue.learn(event, at) == known:
        state.graph.add_block()
    text = event.text
    state.lexicon.add(None if isinstance(text, Erased) else text.content)


def _restated(state: State, event: happened.BlockRestated, at: Recorded) -> None:
    state.catalogue.restate(event, at)


def _promoted(state: State, event: happened.BlocksPromoted, at: Recorded) -> None:
    numbers = state.catalogue.numbers
    for promotion in event.promotions:
        number = numbers[promotion.block_id]
        row = state.add_vector(number, promotion.vector, promotion.typicality)
        if promotion.rarity >= 0:
            document = state.catalogue.life.value("text", number)
            state.lexicon.record_rarity(document, promotion.rarity)
        for staged in state.staged_vectors.values():
            staged.pop(number, None)
        state.catalogue.promote(promotion, at.version, at.active_us, vector=row)
        if promotion.supersession is not None:
            supersede(state, promotion.supersession, at.version)
    note_near(state, event.near, at.version)
    _link(state, event.links, at, relation="similar", origin="similarity")


def _relinked(state: State, event: happened.BlocksRelinked, at: Recorded) -> None:
    _link(state, event.links, at, relation="similar", origin="similarity")


def _superseded(state: State, event: happened.BlockSuperseded, at: Recorded) -> None:
    supersede(state, event.supersession, at.version)


def note_near(state: State | Batch, pairs: Iterable[NearDuplicate], version: int) -> None:
    """Record near-duplicate pairs, each from the version at which it was first noted."""
    numbers, sightings = state.catalogue.numbers, state.graph.sightings
    for near in pairs:
        block, other = numbers[near.block_id], numbers[near.other]
        if key(block, other) not in sightings.current:
            sighting = NearDuplicatePair(block=block, other=other, cosine=near.cosine)
            sightings.put(key(block, other), version, sighting)


def supersede(state: State | Batch, event: Supersession, version: int) -> None:
    """Replace one block with another, moving edges and evidence."""
    numbers = state.catalogue.numbers
    old, new = numbers[event.old], numbers[event.new]
    state.graph.move(old, new, [numbers[other] for other in event.moved], version)
    state.catalogue.supersede(event, version, state.timeline.policy)
    state.graph.isolate({old}, version)


def _forgotten(state: State, event: happened.BlockForgotten, at: Recorded) -> None:
    _archive(state, (event.block_id,), at.version, "forgotten")


def _erased(state: State, event: happened.BlockErased, at: Recorded) -> None:
    _archive(state, (event.block_id,), at.version, "erased")
    numbers, timeline = state.catalogue.numbers, state.timeline
    number = numbers[event.block_id]
    timeline.erased_blocks[number] = at.version
    known = timeline.erased_context.get(number, frozenset())
    near = None if event.context is None else frozenset(numbers[each] for each in event.context)
    timeline.erased_context[number] = None if near is None or known is None else known | near


def _archive(state: State, ids: Iterable[BlockId], version: int, reason: str) -> None:
    blocks = {state.catalogue.numbers[block] for block in ids}
    for block in sorted(blocks):
        state.catalogue.archive(block, version, reason)
    state.graph.isolate(blocks, version)


def _rezoned(state: State, event: happened.BlockRezoned, at: Recorded) -> None:
    number = state.catalogue.numbers[event.block_id]
    state.catalogue.rezone(number, at.version, event.zone, event.rate)


def _quarantined(state: State, event: happened.BlocksQuarantined, at: Recorded) -> None:
    state.catalogue.set_apart(event, at.version)


def _vectors_staged(state: State, event: happened.VectorsStaged, _: Recorded) -> None:
    staged = state.staged_vectors.setdefault(event.embedder, {})
    for entry in event.vectors:
        number = state.catalogue.numbers[entry.block_id]
        staged[number] = state.add_vector(
            number, entry.vector, entry.typicality, embedder=event.embedder
        )


# --- edges ----------------------------------------------------------------------------------


def _connected(state: State, event: happened.EdgeConnected, at: Recorded) -> None:
    graph, numbers = state.graph, state.catalogue.numbers
    source, target = numbers[event.source], numbers[event.target]
    for pair in event.displaced:
        graph.unlink(numbers[pair[0]], numbers[pair[1]], at.version)
    ends = key(source, target)
    if event.note is None and event.action != "created":
        note = graph.rows.value("note", graph.pairs[ends])
    else:
        note = graph.note(event.note)
    graph.pending.drop(ends, at.version)
    graph.barred.drop(ends, at.version)
    graph.link(
        source,
        target,
        at.version,
        relation=event.relation,
        origin=event.origin,
        weight=event.weight,
        anchor_us=at.active_us,
        count=event.count,
        note=note,
    )


def _deferred(state: State, event: happened.EdgeDeferred, at: Recorded) -> None:
    graph, numbers = state.graph, state.catalogue.numbers
    source, target = numbers[event.source], numbers[event.target]
    graph.barred.drop(key(source, target), at.version)
    waiting = Pending(
        source=source,
        target=target,
        relation=event.relation,
        weight=event.weight,
        note=graph.note(event.note),
        version=at.version,
    )
    graph.pending.put(key(source, target), at.version, waiting)


def _disconnected(state: State, event: happened.EdgeDisconnected, at: Recorded) -> None:
    graph, numbers = state.graph, state.catalogue.numbers
    source, target = numbers[event.source], numbers[event.target]
    graph.unlink(source, target, at.version)
    graph.pending.drop(key(source, target), at.version)
    graph.staged.drop(key(source, target), at.version)
    graph.barred.put(key(source, target), at.version, at.version)


def _link(
    state: State, links: tuple[Link, ...], at: Recorded, *, relation: str, origin: str
) -> None:
    graph, numbers = state.graph, state.catalogue.numbers
    for link in links:
        for pair in link.displaced:
            graph.unlink(numbers[pair[0]], numbers[pair[1]], at.version)
        source, target = numbers[link.source], numbers[link.target]
        graph.link(
            source,
            target,
            at.version,
            relation=link.relation or relation,
            origin=origin,
            weight=link.weight,
            anchor_us=at.active_us,
        )


# --- decisions and feedback -----------------------------------------------------------------


def _recalled(state: State, event: happened.RecallRecorded, at: Recorded) -> None:
    graph = state.graph
    session = at.session_id or ""
    for row in event.answer.rows:
        state.catalogue.retrieve(row.block, at.version)
        state.catalogue.returns.note(row.block, event.frame, at.version)
    graph.staged.stage_each([key(a, b) for a, b in event.staged], at.version, session)
    for a, b in event.linked:
        graph.link(
            a,
            b,
            at.version,
            relation="co_occurs",
            origin="co_retrieval",
            weight=nano(state.timeline.policy.co_retrieval_weight),
            anchor_us=at.active_us,
        )
    for a, b in event.refreshed:
        graph.use(a, b, at.version, at.active_us)
        graph.refreshed.note(key(a, b), session, at.version)
    graph.staged.drop_each([key(a, b) for a, b in event.evicted], at.version)


def _outcome(state: State, event: happened.OutcomeRecorded, at: Recorded) -> None:
    catalogue, graph, numbers = state.catalogue, state.graph, state.catalogue.numbers
    gain = product(event.signal, event.weight)
    loss = product(NANO - event.signal, event.weight)
    failed = event.signal < nano(state.timeline.policy.outcome_penalises_below)
    rating = GOOD if event.reinforced else AGAIN if failed else None
    for block in event.block_ids:
        if rating is not None:
            catalogue.reviews.note(numbers[block], at.version, at.active_us, rating)
        catalogue.score(numbers[block], at.version, gain, loss)
        if event.reinforced:
            catalogue.reinforce(numbers[block], at.version, at.active_us)
    _link(state, event.links, at, relation="outcome", origin="outcome")
    for a, b in event.confirmed:
        graph.use(numbers[a], numbers[b], at.version, at.active_us)
    for penalty in event.penalties:
        catalogue.penalise(numbers[penalty.block_id], at.version, penalty.rate)


# --- compositions ---------------------------------------------------------------------------


def _composed(state: State, event: happened.BlocksComposed, at: Recorded) -> None:
    state.ledger.compose(event, at, [state.catalogue.numbers[m.block_id] for m in event.members])


def _labelled(state: State, event: happened.CompositionLabelled, at: Recorded) -> None:
    state.ledger.label(event, at)


def _retracted(state: State, event: happened.LabelRetracted, at: Recorded) -> None:
    state.ledger.retract(event, at)


def _curated(state: State, event: happened.Curated, at: Recorded) -> None:
    graph, numbers = state.graph, state.catalogue.numbers
    for reason in ("decayed", "expired"):
        faded = [entry.block_id for entry in event.archived if entry.reason == reason]
        _archive(state, faded, at.version, reason)
    for a, b in (*event.pruned, *event.decayed):
        graph.unlink(numbers[a], numbers[b], at.version)
    for admission in event.admitted:
        ends = numbers[admission.source], numbers[admission.target]
        waiting = graph.pending.current[key(*ends)]
        graph.pending.drop(key(*ends), at.version)
        graph.link(
            waiting.source,
            waiting.target,
            at.version,
            relation=waiting.relation,
            origin="agent",
            weight=waiting.weight,
            anchor_us=at.active_us,
            note=waiting.note,
        )
    state.timeline.curated_us.put("sweep", at.version, at.active_us)
    for block in (*event.constitutional, *event.reinforced):
        state.catalogue.reinforce(numbers[block], at.version, at.active_us)


HANDLERS: dict[type, Callable[[State, Any, Recorded], None]] = {
    happened.SpaceOpened: _opened,
    happened.PolicyAdopted: _policy_adopted,
    happened.EmbedderAdopted: _embedder_adopted,
    happened.SpaceErased: _space_erased,
    happened.LossAccepted: _loss_accepted,
    happened.SessionStarted: _session_started,
    happened.SessionEnded: _session_ended,
    happened.BlockLearned: _learned,
    happened.BlockRestated: _restated,
    happened.BlocksPromoted: _promoted,
    happened.BlocksRelinked: _relinked,
    happened.BlockSuperseded: _superseded,
    happened.BlockForgotten: _forgotten,
    happened.BlockErased: _erased,
    happened.BlockRezoned: _rezoned,
    happened.BlocksQuarantined: _quarantined,
    happened.VectorsStaged: _vectors_staged,
    happened.EdgeConnected: _connected,
    happened.EdgeDeferred: _deferred,
    happened.EdgeDisconnected: _disconnected,
    happened.RecallRecorded: _recalled,
    happened.OutcomeRecorded: _outcome,
    happened.BlocksComposed: _composed,
    happened.CompositionLabelled: _labelled,
    happened.LabelRetracted: _retracted,
    happened.Curated: _curated,
    happened.Reverted: put_back,
}
"""Complete over ``Event``; a test checks that."""
