"""Compositions as result objects, and the listings of the ledger."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import islice
from typing import Any

from mnemic.kernel.errors import CompositionNotFound, FieldRefused
from mnemic.kernel.events import Member
from mnemic.kernel.model import identity
from mnemic.kernel.model.texts import CompositionText, LabelText, MemberText
from mnemic.kernel.numeric.arithmetic import MICROS_PER_HOUR
from mnemic.kernel.results import (
    ComposedNeighbour,
    Composition,
    CompositionLabel,
    CompositionMember,
    unit,
)
from mnemic.kernel.timestamps import iso
from mnemic.projections.ledger.ledger import Composed, Labelled
from mnemic.projections.view import View
from mnemic.projections.view.block_results import find

LIMIT_MAX = 1000


def composition(view: View, composition_id: object) -> Composition:
    """Return one composition with its members and the labels that count.

    Raises:
        CompositionNotFound: There is none with this id at the view's version.
    """
    found = view.composition(composition_id)
    if found is None:
        raise CompositionNotFound(
            f"composition event not found: {composition_id}", composition_id=str(composition_id)
        )
    return shown(view, found)


def listed(view: View, *, block: str | None, limit: int) -> tuple[Composition, ...]:
    """Return the latest compositions, optionally restricted to one block.

    Raises:
        BlockNotFound: It had not been learned at the view's version.
    """
    _check_limit(limit)
    found: Iterable[Composed] = view.compositions()
    if block is not None:
        found = view.composed_with(find(view, block))
    return tuple(shown(view, each) for each in islice(found, limit))


def neighbours(view: View, block_id: str, *, limit: int) -> tuple[ComposedNeighbour, ...]:
    """Return the blocks composed with a block: most often first, then the latest, then by id.

    Raises:
        BlockNotFound: It had not been learned at the view's version.
        FieldRefused: The limit is out of range.
    """
    _check_limit(limit)
    number = find(view, block_id)
    met: dict[int, list[Composed]] = {}
    for each in view.composed_with(number):
        for other in dict.fromkeys(each.members):
            if other != number:
                met.setdefault(other, []).append(each)
    order = sorted(
        met, key=lambda other: (-len(met[other]), -met[other][0].version, view.id(other))
    )
    return tuple(
        ComposedNeighbour(
            block_id=view.id(other),
            composed_count=len(met[other]),
            latest_id=met[other][0].id,
            latest_at=iso(met[other][0].recorded_us),
        )
        for other in order[:limit]
    )


def _check_limit(limit: object) -> None:
    if type(limit) is not int or not 1 <= limit <= LIMIT_MAX:
        raise FieldRefused(f"limit must be from 1 to {LIMIT_MAX}, got {limit!r}", field="limit")


def shown(view: View, composed: Composed) -> Composition:
    """Return one composition of a view."""
    event = composed.event
    text = event.text if isinstance(event.text, CompositionText) else CompositionText()
    return Composition(
        id=composed.id,
        version=composed.version,
        hour=composed.active_us / MICROS_PER_HOUR,
        created_at=iso(composed.recorded_us),
        tool=event.tool,
        mode=event.mode,
        query=text.query,
        query_hash=text.query_hash,
        confidence=None if event.confidence is None else unit(event.confidence),
        status=event.status,
        output_preview=text.output_preview,
        metadata=_object(text.metadata),
        consume=event.consume,
        members=tuple(map(_member, event.members)),
        labels=tuple(map(label_result, view.labels_of(composed))),
    )


def _member(member: Member) -> CompositionMember:
    text = member.text if isinstance(member.text, MemberText) else MemberText()
    return CompositionMember(
        block_id=member.block_id,
        role=member.role,
        rank=member.rank,
        trust=None if member.trust is None else unit(member.trust),
        score=None if member.score is None else unit(member.score),
        preview=text.preview,
        metadata=_object(text.metadata),
    )


def label_result(labelled: Labelled) -> CompositionLabel:
    """Return one label of a view."""
    event = labelled.event
    text = event.text if isinstance(event.text, LabelText) else LabelText()
    return CompositionLabel(
        label_id=identity.label_id(labelled.version),
        composition_id=event.composition_id,
        label=event.label,
        source=event.source,
        labelled_at=iso(labelled.recorded_us),
        hour=labelled.active_us / MICROS_PER_HOUR,
        confidence_delta=None if event.confidence_delta is None else unit(event.confidence_delta),
        notes=text.notes,
        metadata=_object(text.metadata),
    )


def _object(body: str | None) -> dict[str, Any] | None:
    found: dict[str, Any] | None = None if body is None else json.loads(body)
    return found
