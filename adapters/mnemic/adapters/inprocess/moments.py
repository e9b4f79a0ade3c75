"""One event as one line: what a history and a log show of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mnemic.kernel import events as happened
from mnemic.kernel.arithmetic import MICROS_PER_HOUR
from mnemic.kernel.events import Recorded
from mnemic.kernel.identity import short
from mnemic.kernel.results import Moment, plural, unit
from mnemic.kernel.texts import BlockText, Question, Remark
from mnemic.projections.blocks import iso
from mnemic.projections.chronicle import kind_of

ERASED = "[erased]"


def moment(recorded: Recorded) -> Moment:
    """Return an event as one entry of a history."""
    tell = DETAILS.get(type(recorded.event))
    return Moment(
        version=recorded.version,
        hour=recorded.active_us / MICROS_PER_HOUR,
        recorded_at=iso(recorded.recorded_us),
        kind=kind_of(type(recorded.event).__name__),
        actor=recorded.actor,
        session_id=recorded.session_id,
        detail="" if tell is None else tell(recorded.event),
    )


def _learned(event: happened.BlockLearned) -> str:
    words = event.text.content if isinstance(event.text, BlockText) else ERASED
    return f"{short(event.block_id)} {words}"


def _promoted(event: happened.BlocksPromoted) -> str:
    return f"{plural(len(event.promotions), 'block')}, {plural(len(event.links), 'edge')}"


def _superseded(event: happened.BlockSuperseded) -> str:
    return f"{short(event.supersession.old)} by {short(event.supersession.new)}"


def _block(event: happened.BlockForgotten | happened.BlockErased | happened.BlockRezoned) -> str:
    return short(event.block_id)


def _edge(event: happened.EdgeConnected | happened.EdgeDeferred | happened.EdgeDisconnected) -> str:
    """Return what was tied or taken apart, and why it was taken apart."""
    edge = f"{short(event.source)} -{event.relation or 'pending'}-> {short(event.target)}"
    if isinstance(event, happened.EdgeDisconnected) and isinstance(event.reason, Remark):
        return f"{edge}: {event.reason.text}"
    return edge


def _recalled(event: happened.RecallRecorded) -> str:
    asked = event.asked.query if isinstance(event.asked, Question) else ERASED
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


def _curated(event: happened.Curated) -> str:
    gone = len(event.pruned) + len(event.decayed)
    return f"{len(event.archived)} archived, {plural(gone, 'edge')} gone"


def _reverted(event: happened.Reverted) -> str:
    """Return what was taken back, and why."""
    stretch = f"versions {event.first} to {event.last}"
    return f"{stretch}: {event.reason.text}" if isinstance(event.reason, Remark) else stretch


DETAILS: dict[type, Callable[[Any], str]] = {
    happened.BlockLearned: _learned,
    happened.BlocksPromoted: _promoted,
    happened.BlockSuperseded: _superseded,
    happened.BlockForgotten: _block,
    happened.BlockErased: _block,
    happened.BlockRezoned: _block,
    happened.EdgeConnected: _edge,
    happened.EdgeDeferred: _edge,
    happened.EdgeDisconnected: _edge,
    happened.RecallRecorded: _recalled,
    happened.OutcomeRecorded: _scored,
    happened.BlocksComposed: _composed,
    happened.CompositionLabelled: _labelled,
    happened.LabelRetracted: _retracted,
    happened.Curated: _curated,
    happened.Reverted: _reverted,
    happened.PolicyAdopted: lambda event: event.policy_id,
    happened.EmbedderAdopted: lambda event: event.embedder.name,
}
"""What a reader wants to know of an event in half a line; of the others its kind says it all."""
