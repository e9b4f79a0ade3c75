"""Event handlers: what the events of each kind change in the state, one function per kind.

Rules of this module:

1. A handler gathers facts. It decides nothing, and raises nothing on a valid log.
2. It must do in columns exactly what ``mnemic.specs.reference.fold`` does in dicts.
3. Everything an event touches is written at that event's version, so that any earlier version
   reads as it was.
4. Erasure changes the past, which no handler can do: a state that contains texts erased since is
   rebuilt from the log, where they read as ``ERASED``.
5. A handler takes events that follow each other in the log, perhaps only one, so that what is the
   same for all of them is looked up once.
6. A handler writes to the ``Writers`` it is given, which may buffer the rows of a batch. So it
   reads what is updated at once (numbers, names, maps) and no table, but for the columns of a
   life that writers remember. A kind that must read tables is in ``SETTINGS``, and is applied to
   the state itself, between two batches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, TypeAlias, TypeVar

from mnemic.kernel import events as happened
from mnemic.kernel.events import Link, NearDuplicate, Pair, Recorded, Supersession
from mnemic.kernel.model.blocks import ACTIVE, INBOX
from mnemic.kernel.model.identity import BlockId, decision_version
from mnemic.kernel.model.texts import AnalysisText, Erased
from mnemic.kernel.numeric.arithmetic import NANO, nano, product
from mnemic.kernel.numeric.retention import AGAIN, GOOD
from mnemic.kernel.policy import Policy
from mnemic.kernel.scoring.signals import UNKNOWN
from mnemic.projections.blocks.catalogue import NO_TAGS, created_us
from mnemic.projections.blocks.outcomes import NO_DECISION
from mnemic.projections.graph.adjacency import JOINED_BITS, join
from mnemic.projections.graph.graph import NOTE_KEPT, NearDuplicatePair, Pending, key
from mnemic.projections.state.batch_tables import CARRIED
from mnemic.projections.state.reversals import put_back
from mnemic.projections.state.state import State
from mnemic.projections.state.writers import DirectWriters, Writers

E = TypeVar("E")
Events: TypeAlias = Iterable[tuple[E, Recorded]]
"""Events of one kind, each with its envelope."""

_TO_VECTOR: Final = (CARRIED,) * 4
"""Reason, successor, text and tags of a life: the columns between status and vector."""
_TO_RATE: Final = (CARRIED,) * 10
"""Category to period: the columns between vector and rate."""


def apply(state: State, recorded: Recorded) -> None:
    """Apply the next event."""
    apply_each(state, (recorded,))


def apply_each(state: State, events: Iterable[Recorded]) -> None:
    """Apply the next events one by one."""
    to = DirectWriters(state)
    for recorded in events:
        state.timeline.record(recorded)
        kind = recorded.kind
        if kind in HANDLERS:
            HANDLERS[kind](to, ((recorded.event, recorded),))
        else:
            SETTINGS[kind](state, recorded.event, recorded)


# --- settings of a space --------------------------------------------------------------------


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


def _vectors_staged(state: State, event: happened.VectorsStaged, _: Recorded) -> None:
    staged = state.staged_vectors.setdefault(event.embedder, {})
    for entry in event.vectors:
        number = state.catalogue.numbers[entry.block_id]
        staged[number] = state.add_vector(
            number, entry.vector, entry.typicality, embedder=event.embedder
        )


# --- blocks ---------------------------------------------------------------------------------


def _sessions(_: Writers, events: Events[object]) -> None:
    """Do nothing: the timeline has recorded them."""


def _learned(to: Writers, events: Events[happened.BlockLearned]) -> None:
    catalogue, numbers, add_text = to.catalogue, to.numbers, to.lexicon.add
    categories, sources = catalogue.categories, catalogue.sources
    for event, at in events:
        version, text = at.version, event.text
        number = numbers.get(event.block_id)
        if number is None:
            number = numbers[event.block_id] = len(catalogue.ids)
            catalogue.ids.append(event.block_id)
            to.write_strength((number, version, 0, 0, 0))
            to.write_evidence((number, version, 0, 0))
            to.write_uses((number, version, 0))
            to.graph.add_block()
        # Before the row that names it: a reader of the row may look up its text.
        document = len(catalogue.texts)
        catalogue.texts.append(text)
        content, tags = (None, NO_TAGS) if isinstance(text, Erased) else (text.content, text.tags)
        expires_us = event.expires_at_us
        to.life.put(
            number,
            version,
            (
                INBOX,
                0,
                -1,
                document,
                catalogue.tag_set(tags),
                -1,
                categories[event.category],
                sources[event.source],
                catalogue.zones[event.zone],
                catalogue.sessions[at.session_id or ""],
                version,
                version,
                event.confidence,
                created_us(event, at),
                UNKNOWN if expires_us is None else expires_us,
                catalogue.periods.number(event.valid_from_us, event.valid_until_us),
                0,
            ),
        )
        catalogue.waiting[number] = None
        add_text(content)


def _restated(to: Writers, events: Events[happened.BlockRestated]) -> None:
    for event, at in events:
        to.catalogue.restate(event, at)


def _promoted(to: Writers, events: Events[happened.BlocksPromoted]) -> None:
    numbers, waiting, staged_vectors = to.numbers, to.catalogue.waiting, to.staged_vectors
    write_life, write_strength, write_review = to.write_life, to.write_strength, to.write_review
    record_rarity, text_of = to.lexicon.record_rarity, to.life.value
    for event, at in events:
        version, active_us = at.version, at.active_us
        for promotion in event.promotions:
            number, rate = numbers[promotion.block_id], promotion.rate
            row = to.add_vector(number, promotion.vector, promotion.typicality)
            if promotion.rarity >= 0:
                record_rarity(text_of("text", number), promotion.rarity)
            for staged in staged_vectors.values():
                staged.pop(number, None)
            if promotion.analysis is None:
                write_life((number, version, ACTIVE, *_TO_VECTOR, row, *_TO_RATE, rate))
            else:
                tags = _analysed(to, promotion.analysis, number, version)
                to.life.change(
                    number, version, status=ACTIVE, tags=tags, vector=row, tier_rate=rate
                )
            write_strength((number, version, active_us, 1, rate))
            write_review((number, version, active_us, GOOD))
            waiting.pop(number, None)
            if promotion.supersession is not None:
                _supersede(to, promotion.supersession, version)
        _note_near(to, event.near, version)
        _link(to, event.links, at, relation="similar", origin="similarity")


def _analysed(to: Writers, analysis: AnalysisText | Erased, number: int, version: int) -> int:
    """Add what an analyst found out about a block, and return the number of its set of tags."""
    catalogue, tags = to.catalogue, to.catalogue.tags(number)
    if not isinstance(analysis, Erased):
        tags = tuple(sorted({*tags, *analysis.tags}))
        if analysis.summary is not None:
            catalogue.summarise(to.life.value("text", number), version, analysis.summary)
    return catalogue.tag_set(tags)


def _relinked(to: Writers, events: Events[happened.BlocksRelinked]) -> None:
    for event, at in events:
        _link(to, event.links, at, relation="similar", origin="similarity")


def _superseded(to: Writers, events: Events[happened.BlockSuperseded]) -> None:
    for event, at in events:
        _supersede(to, event.supersession, at.version)


def _note_near(to: Writers, pairs: Iterable[NearDuplicate], version: int) -> None:
    """Record near-duplicate pairs, each from the version at which it was first noted."""
    numbers, sightings = to.numbers, to.graph.sightings
    for near in pairs:
        block, other = numbers[near.block_id], numbers[near.other]
        if key(block, other) not in sightings:
            sighting = NearDuplicatePair(block=block, other=other, cosine=near.cosine)
            sightings.put(key(block, other), version, sighting)


def _supersede(to: Writers, event: Supersession, version: int) -> None:
    """Replace one block with another, moving edges and evidence."""
    numbers = to.numbers
    old, new = numbers[event.old], numbers[event.new]
    to.graph.move(old, new, [numbers[other] for other in event.moved], version)
    to.catalogue.supersede(event, version, to.timeline.policy)
    to.graph.isolate({old}, version)


def _forgotten(to: Writers, events: Events[happened.BlockForgotten]) -> None:
    for event, at in events:
        _archive(to, (event.block_id,), at.version, "forgotten")


def _erased(to: Writers, events: Events[happened.BlockErased]) -> None:
    numbers, timeline = to.numbers, to.timeline
    for event, at in events:
        _archive(to, (event.block_id,), at.version, "erased")
        number = numbers[event.block_id]
        known = timeline.erased_context.get(number, frozenset())
        near = None if event.context is None else frozenset(numbers[each] for each in event.context)
        both = None if near is None or known is None else known | near
        timeline.erased_context[number] = both
        timeline.erased_blocks[number] = at.version  # last: readers look up the context of these


def _archive(to: Writers, ids: Iterable[BlockId], version: int, reason: str) -> None:
    blocks = {to.numbers[block] for block in ids}
    for block in sorted(blocks):
        to.catalogue.archive(block, version, reason)
    to.graph.isolate(blocks, version)


def _rezoned(to: Writers, events: Events[happened.BlockRezoned]) -> None:
    for event, at in events:
        to.catalogue.rezone(to.numbers[event.block_id], at.version, event.zone, event.rate)


def _quarantined(to: Writers, events: Events[happened.BlocksQuarantined]) -> None:
    for event, at in events:
        to.catalogue.set_apart(event, at.version)


# --- edges ----------------------------------------------------------------------------------


def _connected(to: Writers, events: Events[happened.EdgeConnected]) -> None:
    graph, numbers, write = to.graph, to.numbers, to.write_edge
    pending, barred, staged = graph.pending.current, graph.barred.current, graph.staged.current
    relations, origins = graph.relations, graph.origins
    for event, at in events:
        version, source, target = at.version, numbers[event.source], numbers[event.target]
        low, high = ends = (source, target) if source < target else (target, source)
        if event.displaced:
            _unlink(to, event.displaced, version)
        if event.note is not None:
            note = graph.note(event.note)
        else:
            note = -1 if event.action == "created" else NOTE_KEPT
        if ends in pending:
            graph.pending.drop(ends, version)
        if ends in barred:
            graph.barred.drop(ends, version)
        if ends in staged:
            graph.staged.drop(ends, version)
        joined, kind, by = (
            low << JOINED_BITS | high,
            relations[event.relation],
            origins[event.origin],
        )
        anchor_us = at.active_us
        write((joined, version, source, kind, by, event.weight, anchor_us, event.count, note))


def _deferred(to: Writers, events: Events[happened.EdgeDeferred]) -> None:
    graph, numbers = to.graph, to.numbers
    for event, at in events:
        version, source, target = at.version, numbers[event.source], numbers[event.target]
        ends, note = key(source, target), graph.note(event.note)
        if ends in graph.barred.current:
            graph.barred.drop(ends, version)
        waiting = Pending(source, target, event.relation, event.weight, note, version)
        graph.pending.put(ends, version, waiting)


def _disconnected(to: Writers, events: Events[happened.EdgeDisconnected]) -> None:
    graph, numbers = to.graph, to.numbers
    for event, at in events:
        version, source, target = at.version, numbers[event.source], numbers[event.target]
        ends = key(source, target)
        graph.unlink(source, target, version)
        graph.pending.drop(ends, version)
        graph.staged.drop(ends, version)
        graph.barred.put(ends, version, version)


def _link(to: Writers, links: Iterable[Link], at: Recorded, *, relation: str, origin: str) -> None:
    """Add automatic edges, which have the relation *relation* unless they say another."""
    numbers, staged, relations = to.numbers, to.graph.staged, to.graph.relations
    write, version, active_us = to.write_edge, at.version, at.active_us
    by = to.graph.origins[origin]
    for link in links:
        if link.displaced:
            _unlink(to, link.displaced, version)
        source, target = numbers[link.source], numbers[link.target]
        low, high = ends = (source, target) if source < target else (target, source)
        if ends in staged.current:
            staged.drop(ends, version)
        kind, joined = relations[link.relation or relation], low << JOINED_BITS | high
        write((joined, version, source, kind, by, link.weight, active_us, 0, -1))


def _unlink(to: Writers, pairs: Iterable[Pair], version: int) -> None:
    for one, other in pairs:
        to.graph.unlink(to.numbers[one], to.numbers[other], version)


# --- decisions and feedback -----------------------------------------------------------------


def _recalled(to: Writers, events: Events[happened.RecallRecorded]) -> None:
    graph, write_uses = to.graph, to.write_uses
    for event, at in events:
        version, active_us, session = at.version, at.active_us, at.session_id or ""
        blocks = event.answer.blocks
        for block in blocks:
            write_uses((block, version, 1))
        to.catalogue.returns.note_each(blocks, event.frame, version)
        graph.staged.stage_each([key(a, b) for a, b in event.staged], version, session)
        for a, b in event.linked:
            ends, weight = key(a, b), nano(to.timeline.policy.co_retrieval_weight)
            kind, by = graph.relations["co_occurs"], graph.origins["co_retrieval"]
            graph.staged.drop(ends, version)
            to.write_edge((join(*ends), version, a, kind, by, weight, active_us, 0, -1))
        for a, b in event.refreshed:
            graph.use(a, b, version, active_us)
            graph.refreshed.note(key(a, b), session, version)
        graph.staged.drop_each([key(a, b) for a, b in event.evicted], version)


def _outcome(to: Writers, events: Events[happened.OutcomeRecorded]) -> None:
    numbers, write_review = to.numbers, to.write_review
    write_evidence, write_strength = to.write_evidence, to.write_strength
    write_outcome = to.write_outcome
    penalises_below = nano(to.timeline.policy.outcome_penalises_below)
    for event, at in events:
        version, active_us, reinforced = at.version, at.active_us, event.reinforced
        gain, loss, weight = event.signal, NANO - event.signal, event.weight
        rating = GOOD if reinforced else AGAIN if gain < penalises_below else None
        if weight != NANO:
            gain, loss = product(gain, weight), product(loss, weight)
        decision = _named(event, at)
        for block in event.block_ids:
            number = numbers[block]
            write_outcome((number, version, decision, event.signal, weight))
            if rating is not None:
                write_review((number, version, active_us, rating))
            if gain or loss:
                write_evidence((number, version, gain, loss))
            if reinforced:
                write_strength((number, version, active_us, 1, CARRIED))
        if event.links:
            _link(to, event.links, at, relation="outcome", origin="outcome")
        for a, b in event.confirmed:
            to.graph.use(numbers[a], numbers[b], version, active_us)
        for penalty in event.penalties:
            write_strength((numbers[penalty.block_id], version, CARRIED, 0, penalty.rate))


def _named(event: happened.OutcomeRecorded, at: Recorded) -> int:
    """Return the version of the decision that an outcome names, if it can be one."""
    decision = decision_version(event.decision_id)
    return decision if decision is not None and decision < at.version else NO_DECISION


# --- compositions ---------------------------------------------------------------------------


def _composed(to: Writers, events: Events[happened.BlocksComposed]) -> None:
    for event, at in events:
        to.ledger.compose(event, at, [to.numbers[each.block_id] for each in event.members])


def _labelled(to: Writers, events: Events[happened.CompositionLabelled]) -> None:
    for event, at in events:
        to.ledger.label(event, at)


def _retracted(to: Writers, events: Events[happened.LabelRetracted]) -> None:
    for event, at in events:
        to.ledger.retract(event, at)


def _extracted(to: Writers, events: Events[happened.FactsExtracted]) -> None:
    for event, at in events:
        to.extractions.add(event, at, to.numbers)


def _curated(to: Writers, events: Events[happened.Curated]) -> None:
    graph, numbers = to.graph, to.numbers
    for event, at in events:
        version, active_us = at.version, at.active_us
        for reason in ("decayed", "expired"):
            faded = [entry.block_id for entry in event.archived if entry.reason == reason]
            _archive(to, faded, version, reason)
        _unlink(to, event.pruned, version)
        _unlink(to, event.decayed, version)
        for admission in event.admitted:
            ends = key(numbers[admission.source], numbers[admission.target])
            waiting, by = graph.pending.current[ends], graph.origins["agent"]
            kind, weight = graph.relations[waiting.relation], waiting.weight
            graph.pending.drop(ends, version)
            graph.staged.drop(ends, version)
            row = (waiting.source, kind, by, weight, active_us, 0, waiting.note)
            to.write_edge((join(*ends), version, *row))
        to.timeline.curated_us.put("sweep", version, active_us)
        for block in (*event.constitutional, *event.reinforced):
            to.write_strength((numbers[block], version, active_us, 1, CARRIED))


HANDLERS: Final[dict[type, Callable[[Writers, Events[Any]], None]]] = {
    happened.SessionStarted: _sessions,
    happened.SessionEnded: _sessions,
    happened.BlockLearned: _learned,
    happened.BlockRestated: _restated,
    happened.BlocksPromoted: _promoted,
    happened.BlocksRelinked: _relinked,
    happened.BlockSuperseded: _superseded,
    happened.BlockForgotten: _forgotten,
    happened.BlockErased: _erased,
    happened.BlockRezoned: _rezoned,
    happened.BlocksQuarantined: _quarantined,
    happened.EdgeConnected: _connected,
    happened.EdgeDeferred: _deferred,
    happened.EdgeDisconnected: _disconnected,
    happened.RecallRecorded: _recalled,
    happened.OutcomeRecorded: _outcome,
    happened.BlocksComposed: _composed,
    happened.CompositionLabelled: _labelled,
    happened.LabelRetracted: _retracted,
    happened.FactsExtracted: _extracted,
    happened.Curated: _curated,
}
TRANSIENT: Final = HANDLERS.keys() - {
    happened.SessionStarted,  # the timeline asks for their class
    happened.SessionEnded,
    happened.BlockErased,  # so does what reads a log
    happened.BlocksComposed,  # kept
    happened.CompositionLabelled,
    happened.FactsExtracted,
}
"""Kinds of which nothing but attributes is read in a fold, and nothing but payloads kept: in place
of the event, its parts and its envelope, a handler takes any objects with these attributes."""
SETTINGS: Final[dict[type, Callable[[State, Any, Recorded], None]]] = {
    happened.SpaceOpened: _opened,
    happened.PolicyAdopted: _policy_adopted,
    happened.EmbedderAdopted: _embedder_adopted,
    happened.SpaceErased: _space_erased,
    happened.LossAccepted: _loss_accepted,
    happened.VectorsStaged: _vectors_staged,
    happened.Reverted: put_back,
}
"""Kinds that change what a whole batch depends on, or read tables. With ``HANDLERS`` they are all
kinds of ``Event``; a test checks that."""
