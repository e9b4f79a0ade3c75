"""Expansion by one hop of the graph: the best neighbours of the best candidates."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mnemic.kernel.model.edges import NO_ANCHOR
from mnemic.kernel.scoring.decay import edge_rates, effective_weights
from mnemic.projections.storage.order import ranked
from mnemic.projections.storage.sorted_arrays import among
from mnemic.projections.view import View

Ints = NDArray[np.int64]


def expand(view: View, seeds: Ints, pool: Ints) -> dict[int, int]:
    """Return the best neighbours of the seeds, each with the seed whose edge brought it in.

    Ranked by effective edge weight, ties by id of the neighbour, then of the seed. An edge with the
    relation ``contradicts`` is not followed: its other end is a counterpoint, not support.
    """
    graph, ids = view.state.graph, view.state.catalogue.ids
    pairs = view.pairs_at(seeds)
    relation = view.edge_rows.column("relation", pairs)
    pairs = pairs[relation != graph.relations.known("contradicts")]
    low, high = graph.low[pairs].astype(np.int64), graph.high[pairs].astype(np.int64)
    seed, other = np.where(among(seeds, low), (low, high), (high, low))
    leading = ~among(seeds, other) & among(pool, other)
    seed, other, weight = seed[leading], other[leading], effective(view, pairs[leading])
    reached, which = np.unique(other, return_inverse=True)
    strongest = np.full(len(reached), -1, dtype=np.int64)
    np.maximum.at(strongest, which, weight)
    count = view.policy.expansions
    if not count or not len(reached):
        return {}
    best = ranked(strongest, reached, ids, k=count)
    through: dict[int, list[int]] = {number: [] for number in reached[best].tolist()}
    is_best = np.zeros(len(reached), dtype=np.bool_)
    is_best[best] = True
    leading = is_best[which] & (weight == strongest[which])
    for number, by in zip(other[leading].tolist(), seed[leading].tolist(), strict=True):
        through[number].append(by)
    return {number: min(seeds_of, key=ids.__getitem__) for number, seeds_of in through.items()}


def effective(view: View, pairs: Ints) -> Ints:
    """Return the effective weights of existing edges at the view's hour."""
    graph = view.state.graph
    rates = edge_rates(
        view.life.column("tier_rate", graph.low[pairs].astype(np.int64)),
        view.life.column("tier_rate", graph.high[pairs].astype(np.int64)),
        view.edge_rows.column("count", pairs),
        view.policy,
    )
    anchor = view.edge_rows.column("anchor_us", pairs)
    lasting = anchor == NO_ANCHOR
    lasting |= view.edge_rows.column("origin", pairs) == graph.origins.known("agent")
    idle = np.where(lasting, 0, view.point.active_us - np.where(lasting, 0, anchor))
    return effective_weights(view.edge_rows.column("weight", pairs), rates, idle)
