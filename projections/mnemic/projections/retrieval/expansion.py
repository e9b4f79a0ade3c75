"""Expansion by one hop of the graph: the best neighbours of the best candidates."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mnemic.kernel.model.edges import NO_ANCHOR
from mnemic.kernel.scoring.decay import edge_rates, effective_weights
from mnemic.projections.storage.order import best_of
from mnemic.projections.view import View

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


def expand(view: View, seeds: Bools, pool: Bools) -> tuple[Ints, dict[int, int]]:
    """Return the best neighbours of the seeds, each with the seed whose edge brought it in.

    Ranked by effective edge weight, ties by id of the neighbour, then of the seed. An edge with the
    relation ``contradicts`` is not followed: its other end is a counterpoint, not support.

    Args:
        view: The view.
        seeds: Mask of the seeds, see ``ActiveColumns.mask``.
        pool: Mask of the eligible blocks.
    Returns:
        The places of the neighbours, and by number which seed each was found by.
    """
    graph, ids, columns = view.state.graph, view.state.catalogue.ids, view.columns
    count = view.policy.expansions
    pairs = view.pairs_at(columns.numbers[seeds[:-1]])
    one = columns.of_numbers(graph.low[pairs])
    other = columns.of_numbers(graph.high[pairs])
    from_one, from_other = seeds[one], seeds[other]
    reached = np.where(from_one, other, one)
    leading = (from_one != from_other) & pool[reached]
    leading &= view.edge_rows.column("relation", pairs) != graph.relations.known("contradicts")
    pairs, reached = pairs[leading], reached[leading]
    if not count or not len(pairs):
        return pairs, {}
    seed = np.where(from_one, one, other)[leading]
    weight = effective(view, pairs)
    strongest = np.full(columns.count, -1, dtype=np.int64)
    np.maximum.at(strongest, reached, weight)
    found = np.flatnonzero(strongest >= 0)
    if len(found) > count:
        found = found[best_of(strongest[found] + 1, columns.numbers[found], ids, k=count)]
    is_best = columns.mask(found)
    leads = is_best[reached] & (weight == strongest[reached])
    through: dict[int, int] = {}
    ends = columns.numbers[reached[leads]].tolist(), columns.numbers[seed[leads]].tolist()
    for number, by in zip(*ends, strict=True):
        known = through.get(number)
        if known is None or ids[by] < ids[known]:
            through[number] = by
    return found, through


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
