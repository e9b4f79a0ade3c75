"""Blocks and edges of a view as result objects."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from mnemic.kernel import results as kernel_results
from mnemic.kernel.decisions.degree_cap import effective_now
from mnemic.kernel.errors import BlockNotFound
from mnemic.kernel.model.blocks import STATUSES
from mnemic.kernel.model.edges import EdgeFacts
from mnemic.kernel.model.periods import Period
from mnemic.kernel.model.texts import BlockText, Lost
from mnemic.kernel.numeric.arithmetic import (
    MICROS_PER_HOUR,
    NANO,
    decayed,
    share,
)
from mnemic.kernel.results import Block, Origin, unit
from mnemic.kernel.scoring.signals import UNKNOWN
from mnemic.kernel.timestamps import iso
from mnemic.projections.blocks.catalogue import REASONS
from mnemic.projections.view import View

if TYPE_CHECKING:
    from mnemic.kernel.results import Edge


def block_result(view: View, number: int) -> Block:
    """Return one block of a view."""
    facts, life = view.facts(number), view.life
    text = view.text(number)
    words = text if isinstance(text, BlockText) else None
    successor = life.get("successor", number)
    created, expires = life.get("created_us", number), life.get("expires_us", number)
    idle_us = view.point.active_us - facts.reinforced_us
    prior = view.policy.prior
    return Block(
        id=facts.id,
        content=words.content if words else None,
        lost=isinstance(text, Lost),
        status=STATUSES[facts.status],
        archive_reason=REASONS[life.get("reason", number)] or None,
        superseded_by=view.id(successor) if successor >= 0 else None,
        category=facts.category,
        tags=facts.tags,
        thread=words.thread if words else None,
        metadata=json.loads(words.metadata) if words and words.metadata else None,
        summary_text=_summary(view, number),
        **origin(view, number),
        confidence=unit(facts.confidence),
        created_at=None if created == UNKNOWN else iso(created),
        expires_at=None if expires == UNKNOWN else iso(expires),
        **validity(facts.period, view.point.instant_us),
        learned_version=life.get("learned", number),
        said_version=life.get("said", number),
        last_reinforced_hour=facts.reinforced_us / MICROS_PER_HOUR,
        reinforcements=view.strength.get("reinforcements", number),
        retrievals=facts.retrievals,
        decay_rate=unit(facts.rate),
        recency=unit(decayed(facts.rate, idle_us)) if facts.rate else 1.0,
        usefulness=unit(share(facts.alpha, facts.alpha + facts.beta)),
        evidence=(facts.alpha + facts.beta - 2 * prior) / NANO,
        degree=view.degree(number),
    )


def validity(period: Period, instant_us: int) -> dict[str, Any]:
    """Return when a fact holds, and what that says of a moment, as fields of a result."""
    return {
        "valid_from": None if period.from_us is None else iso(period.from_us),
        "valid_until": None if period.until_us is None else iso(period.until_us),
        "validity": period.at(instant_us),
    }


def origin(view: View, number: int) -> dict[str, Any]:
    """Return where a block's text comes from: ``zone``, ``source``, ``actor`` and ``author``."""
    text = view.text(number)
    return {
        "zone": view.zone(number),
        "source": view.source(number),
        "actor": view.actor(number),
        "author": text.author if isinstance(text, BlockText) else None,
    }


def origin_of(view: View, number: int) -> Origin:
    """Return where a block's text comes from, as a result."""
    return Origin(**origin(view, number))


def _summary(view: View, number: int) -> str | None:
    return view.state.catalogue.summary(view.life.get("text", number), view.point.version)


def find(view: View, block_id: str) -> int:
    """Return the number of a block.

    Raises:
        BlockNotFound: It had not been learned at the view's version.
    """
    number = view.number(block_id)
    if number is None:
        raise BlockNotFound(f"no block has the id {block_id!r}", block_id=block_id)
    return number


def edge_result(view: View, edge: EdgeFacts) -> Edge:
    """Return one edge of a view."""
    return kernel_results.Edge(
        source_id=view.id(edge.source),
        target_id=view.id(edge.target),
        relation=edge.relation,
        weight=unit(edge.weight),
        effective_weight=unit(effective_now(view, edge, view.point.active_us)),
        origin=edge.origin,
        anchor_hour=None if edge.anchor_us is None else edge.anchor_us / MICROS_PER_HOUR,
        reinforcement_count=edge.count,
        note=view.note(edge.source, edge.target),
    )
