"""Queries over pairs that are pending, barred, staged, or were noted as near-duplicates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from mnemic.kernel.model.blocks import ACTIVE
from mnemic.kernel.model.edges import PendingFacts
from mnemic.projections.graph.graph import NearDuplicatePair, Pending, key
from mnemic.projections.graph.staging import Staged, order_of
from mnemic.projections.view.block_view import BlockView

Ints = NDArray[np.int64]


def waiting_connections(at: BlockView) -> list[Pending]:
    """Return the deferred connections, oldest first."""
    return list(at.mapping(at.state.graph.pending).values())


def pending(at: BlockView) -> list[PendingFacts]:
    """Return the deferred connections as decisions see them."""
    return list(map(pending_facts, waiting_connections(at)))


def pending_facts(waiting: Pending) -> PendingFacts:
    """Return a deferred connection as decisions see it."""
    return PendingFacts(waiting.source, waiting.target, waiting.relation, waiting.weight)


def is_pending(at: BlockView, a: int, b: int) -> bool:
    """Whether a connection of the two waits for a free place under the degree cap."""
    return key(a, b) in at.mapping(at.state.graph.pending)


def is_barred(at: BlockView, a: int, b: int) -> bool:
    """Whether the two were disconnected and not connected since."""
    return key(a, b) in at.mapping(at.state.graph.barred)


def barred_among(at: BlockView, numbers: Sequence[int]) -> list[tuple[int, int]]:
    """Return the pairs of some blocks that are barred, the lower number first."""
    barred = at.mapping(at.state.graph.barred)
    return [ends for ends in combinations(sorted(numbers), 2) if ends in barred] if barred else []


def staged_among(at: BlockView, numbers: Sequence[int]) -> dict[tuple[int, int], tuple[str, ...]]:
    """Return ``staged_sessions`` of the pairs of some blocks that have any."""
    known = staged(at)
    pairs = combinations(sorted(numbers), 2)
    return {ends: known[ends].sessions for ends in pairs if ends in known}


def staged(at: BlockView) -> dict[tuple[int, int], Staged]:
    """Return the staged pairs in the order in which they were last staged."""
    return at.mapping(at.state.graph.staged)


def staged_with(at: BlockView, number: int) -> list[tuple[int, int]]:
    """Return the staged pairs of a block."""
    if at.live:
        return at.state.graph.staged.of(number)
    return [ends for ends in staged(at) if number in ends]


def staged_sessions(at: BlockView, a: int, b: int) -> tuple[str, ...]:
    """Return the sessions in which a pair without an edge was returned together."""
    existing = staged(at).get(key(a, b))
    return () if existing is None else existing.sessions


def staged_total(at: BlockView) -> int:
    """Return how many pairs are staged."""
    return len(staged(at))


def staging_order(at: BlockView) -> Iterator[tuple[tuple[int, int], int]]:
    """Yield staged pairs with their number of sessions, in the order of eviction."""
    ids, graph = at.state.catalogue.ids, at.state.graph
    return graph.staged.order(ids) if at.live else order_of(staged(at), ids)


def was_refreshed(at: BlockView, a: int, b: int, session: str) -> bool:
    """Whether a recall of this session has already refreshed the pair's edge."""
    refreshed = at.state.graph.refreshed
    if at.live:
        return refreshed.has(key(a, b), session)
    return refreshed.by(key(a, b), session, at.point.version)


def sightings(at: BlockView) -> list[NearDuplicatePair]:
    """Return the near-duplicate pairs of which both blocks are still active."""
    return [
        pair
        for pair in list(at.mapping(at.state.graph.sightings).values())
        if at.status(pair.block) == ACTIVE and at.status(pair.other) == ACTIVE
    ]


def sighted(at: BlockView) -> Ints:
    """Return the blocks of every near-duplicate pair recorded by now, shape (pairs, 2)."""
    return at.state.past.sighted(at.state.graph.sightings, at.point.version)
