"""Readable entries of the log, the events of one block, and verification."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np
from attrs import evolve

from mnemic.adapters.codec.erasures import Erasures
from mnemic.adapters.inprocess.engine.idempotency import RequestCheck
from mnemic.adapters.inprocess.engine.payload_check import payloads_missing
from mnemic.adapters.inprocess.engine.session_handle import SessionHandle
from mnemic.adapters.inprocess.results import contradictions, replacements
from mnemic.kernel import events as happened
from mnemic.kernel.errors import FieldRefused, LogCorrupt, StoreTooNew
from mnemic.kernel.events import Event, Recorded
from mnemic.kernel.model.identity import BlockId, short
from mnemic.kernel.model.texts import BlockText, Question, Remark, placeholder
from mnemic.kernel.numeric.arithmetic import MICROS_PER_HOUR
from mnemic.kernel.results import NAMED_MAX, LogEntry, Verification, plural, unit
from mnemic.kernel.timestamps import iso
from mnemic.projections.listing.timeline import kind_of
from mnemic.projections.state.event_validation import check_policy_known, impossible_event
from mnemic.projections.view import View
from mnemic.projections.view.block_results import find

LIMIT_MAX = 1000
PROGRESS_EVERY = 1000


def entries(space: SessionHandle, *, after: int = -1, limit: int = 100) -> tuple[LogEntry, ...]:
    """Return up to *limit* events after version *after*, in order.

    Raises:
        FieldRefused: The limit is not from 1 to 1000, or *after* is not a version.
    """
    _check_limit(limit)
    if type(after) is not int:
        raise FieldRefused(f"after must be a version, got {after!r}", field="after")
    after = max(after, -1)
    # Never beyond the folded state: a damaged log that was opened read-only ends there.
    upto = min(after + limit, space.log_state.version)
    return tuple(moment(recorded) for recorded in space.recorded(after, upto))


def latest(space: SessionHandle, version: int, *, limit: int = 100) -> tuple[LogEntry, ...]:
    """Return the last *limit* events up to *version*, in order.

    Raises:
        FieldRefused: The limit is not from 1 to 1000.
    """
    _check_limit(limit)
    after = max(-1, version - limit)
    return entries(space, after=after, limit=min(limit, version - after))


def behind(
    space: SessionHandle, view: View, block_id: str, *, limit: int = 100
) -> tuple[LogEntry, ...]:
    """Return the last *limit* events that changed a block or its edges, in order.

    Raises:
        BlockNotFound: It was not learned by the view's version.
    """
    _check_limit(limit)
    number = find(view, block_id)
    catalogue, graph = view.state.catalogue, view.state.graph
    tables = (catalogue.life, catalogue.strength, catalogue.evidence, catalogue.uses)
    touched = [table.touched(number) for table in tables]
    touched += [graph.rows.touched(pair) for pair in graph.incident[number]]
    for ledger in (graph.pending, graph.barred, graph.sightings):
        touched.append(ledger.touched_by(number))
    versions = np.unique(np.concatenate(touched))
    chosen = versions[versions <= view.point.version][-limit:]
    found = (space.event_at(int(version)) for version in chosen)
    return tuple(moment(recorded, view.id(number)) for recorded in found if recorded is not None)


def _check_limit(limit: int) -> None:
    if type(limit) is not int or not 1 <= limit <= LIMIT_MAX:
        raise FieldRefused(f"limit must be from 1 to {LIMIT_MAX}, got {limit!r}", field="limit")


def verify(
    space: SessionHandle, progress: Callable[[int, int], None] | None = None
) -> Verification:
    """Walk the whole log: chain, codec, payload MACs, and payloads missing without an erasure.

    What the store has of each command is compared with the ids that events carry. The events are
    folded on the way, into a state of their own: a chain may be whole although no space can be
    opened with what it says. Then let the store check the data that it keeps outside the chain, if
    it can.

    The walk reads the store afresh and does not touch the folded state, unless the log is another
    one by now: then the state is dropped, and the error says so. Text may be erased meanwhile, so
    the walk may find payloads missing before it reads the erasure event.

    Raises:
        HistoryReplaced: The log is not a continuation of what was folded.
    """
    _check_history(space)
    found = _verified(space, progress)
    if not found.sound:
        _check_history(space)  # two histories, read one after the other, look like damage
    return found


def _check_history(space: SessionHandle) -> None:
    """Refuse a log that is another one by now; whether it can be read is reported by a walk."""
    with suppress(LogCorrupt):
        space.check_history()


def _verified(space: SessionHandle, progress: Callable[[int, int], None] | None) -> Verification:
    """Walk it once."""
    events = payloads = 0
    walk, requests = Erasures(space.codec), RequestCheck(space.log)
    head = space.log.head()

    def walked() -> Iterator[Recorded]:
        nonlocal events, payloads
        for record, rows in space.log.read():
            recorded, missing = space.codec.decode_noting(record, rows)
            check_policy_known(recorded)
            walk.see(record, recorded, missing)
            requests.see(recorded)
            events, payloads = events + 1, payloads + len(rows)
            if progress is not None and events % PROGRESS_EVERY == 0:
                progress(events, head.version + 1)
            yield recorded

    try:
        impossible = impossible_event(walked)
        if impossible is not None:
            return _damaged(space, impossible.version, impossible.problem, payloads)
        requests.settle()
    except (LogCorrupt, StoreTooNew) as error:
        version = int(str(error.facts.get("version", events)))
        found = _damaged(space, version, error.message, payloads)
        return evolve(found, too_new=isinstance(error, StoreTooNew))
    walk.look_beyond(space.log, events - 1)
    accepted, lost = walk.unerased(), walk.lost()
    if lost:
        problem = payloads_missing(space.log.name, lost)
        return _damaged(space, lost[0].version, problem.message, payloads)
    check = space.log.capabilities.check
    try:
        if check is not None:
            check()
    except LogCorrupt as error:
        return _damaged(space, events, error.message, payloads)
    if progress is not None:
        progress(events, head.version + 1)
    return Verification(
        events=events,
        head=space.log.head().digest.hex(),
        sound=True,
        payloads=payloads,
        erased_payloads=walk.missing_count - len(accepted),
        lost_payloads=len(accepted),
        requests_lost=requests.lost,
    )


def _damaged(space: SessionHandle, version: int, problem: str, payloads: int) -> Verification:
    return Verification(
        events=version,
        head=space.log.head().digest.hex(),
        sound=False,
        first_bad_version=version,
        problem=problem,
        payloads=payloads,
    )


# --- one entry per event ----------------------------------------------------------------------


def moment(recorded: Recorded, of: BlockId | None = None) -> LogEntry:
    """Return an event as one entry of a history, of one block or of all."""
    return LogEntry(
        version=recorded.version,
        hour=recorded.active_us / MICROS_PER_HOUR,
        recorded_at=iso(recorded.recorded_us),
        kind=kind_of(type(recorded.event).__name__),
        actor=recorded.actor,
        session_id=recorded.session_id,
        detail=_detail(recorded.event, of),
    )


def _detail(event: Event, of: BlockId | None) -> str:
    archived = None if of is None else archival(event, of)
    if archived is not None:
        return f"{short(archived.block_id)} {archived_because(archived)}"
    tell = DETAILS.get(type(event))
    return "" if tell is None else tell(event)


def _learned(event: happened.BlockLearned) -> str:
    words = event.text.content if isinstance(event.text, BlockText) else placeholder(event.text)
    return f"{short(event.block_id)} {words}"


def _restated(event: happened.BlockRestated) -> str:
    return f"{short(event.block_id)} said again by {event.source}"


def _promoted(event: happened.BlocksPromoted) -> str:
    counts = f"{plural(len(event.promotions), 'block')}, {plural(len(event.links), 'edge')}"
    said = [each.summary for each in (*replacements(event), *contradictions(event.links))]
    return "; ".join((counts, *said[:NAMED_MAX], *(["…"] if len(said) > NAMED_MAX else [])))


def _superseded(event: happened.BlockSuperseded) -> str:
    return f"{short(event.supersession.old)} by {short(event.supersession.new)}"


def _block(event: happened.BlockForgotten | happened.BlockErased | happened.BlockRezoned) -> str:
    return short(event.block_id)


def _quarantined(event: happened.BlocksQuarantined) -> str:
    """Return how many blocks were put into quarantine or released, and why."""
    way = "released" if event.released else "quarantined"
    counted = f"{plural(len(event.block_ids), 'block')} {way}"
    return f"{counted}: {event.reason.text}" if isinstance(event.reason, Remark) else counted


def _edge(event: happened.EdgeConnected | happened.EdgeDeferred | happened.EdgeDisconnected) -> str:
    """Return which edge was formed or removed, and the reason of a removal."""
    edge = f"{short(event.source)} -{event.relation or 'pending'}-> {short(event.target)}"
    if isinstance(event, happened.EdgeDisconnected) and isinstance(event.reason, Remark):
        return f"{edge}: {event.reason.text}"
    return edge


def _recalled(event: happened.RecallRecorded) -> str:
    asked = event.asked.query if isinstance(event.asked, Question) else placeholder(event.asked)
    return f"{plural(len(event.answer.rows), 'block')} for {asked!r}"


def _scored(event: happened.OutcomeRecorded) -> str:
    return f"{plural(len(event.block_ids), 'block')} scored {unit(event.signal):.2f}"


def _composed(event: happened.BlocksComposed) -> str:
    roles = ", ".join(f"{short(each.block_id)} {each.role}" for each in event.members)
    return f"{event.tool}: {roles}"


def _labelled(event: happened.CompositionLabelled) -> str:
    return f"{event.composition_id} {event.label} by {event.source}"


def _retracted(event: happened.LabelRetracted) -> str:
    return f"{event.composition_id} label l{event.label_version}"


def _loss_accepted(event: happened.LossAccepted) -> str:
    return f"{plural(len(event.payloads), 'payload')} lost"


def _extracted(event: happened.FactsExtracted) -> str:
    """Return how much an extractor found, and what went wrong."""
    found = f"{plural(len(event.facts), 'fact')} by {event.extractor}"
    refused = f", {event.refused_count} refused" if event.refused_count else ""
    return f"{found}{refused}" + (f"; {event.status}: {event.problem}" if event.problem else "")


def _curated(event: happened.Curated) -> str:
    gone = len(event.pruned) + len(event.decayed)
    by = ", ".join(f"{count} by {rule!r}" for rule, count in event.by_rule.items())
    return f"{len(event.archived)} archived{by and f' ({by})'}, {plural(gone, 'edge')} gone"


def archival(event: Event, block: BlockId) -> happened.Archival | None:
    """Return how a sweep archived a block; None if the event is no sweep, or did not."""
    found = event.archived if isinstance(event, happened.Curated) else ()
    return next((each for each in found if each.block_id == block), None)


def archived_because(archived: happened.Archival) -> str:
    """Return why a sweep archived a block: the reason, and the rule of the policy if it was one."""
    by = "" if archived.rule is None else f" by the retention rule {archived.rule!r}"
    return f"{archived.reason}{by}"


def _reverted(event: happened.Reverted) -> str:
    """Return what was reverted, and why."""
    of = "selected events of versions" if event.selected else "versions"
    versions = f"{of} {event.first} to {event.last}"
    return f"{versions}: {event.reason.text}" if isinstance(event.reason, Remark) else versions


DETAILS: dict[type, Callable[[Any], str]] = {
    happened.BlockLearned: _learned,
    happened.BlockRestated: _restated,
    happened.BlocksPromoted: _promoted,
    happened.BlockSuperseded: _superseded,
    happened.BlockForgotten: _block,
    happened.BlockErased: _block,
    happened.BlockRezoned: _block,
    happened.BlocksQuarantined: _quarantined,
    happened.EdgeConnected: _edge,
    happened.EdgeDeferred: _edge,
    happened.EdgeDisconnected: _edge,
    happened.RecallRecorded: _recalled,
    happened.OutcomeRecorded: _scored,
    happened.BlocksComposed: _composed,
    happened.CompositionLabelled: _labelled,
    happened.LabelRetracted: _retracted,
    happened.LossAccepted: _loss_accepted,
    happened.FactsExtracted: _extracted,
    happened.Curated: _curated,
    happened.Reverted: _reverted,
    happened.PolicyAdopted: lambda event: event.policy_id,
    happened.EmbedderAdopted: lambda event: event.embedder.name,
}
"""Details of an event as a short phrase; other events are described by their kind alone."""
