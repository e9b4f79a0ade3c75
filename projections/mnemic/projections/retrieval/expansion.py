"""Expansion by one hop of the graph: the best neighbours of the best candidates."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mnemic.kernel.model.edges import NO_ANCHOR
from mnemic.kernel.scoring.decay import edge_rates, effective_weights
from mnemic.projections.storage.order import best_of
from mnemic.projections.view import View, edges

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
    seed = seeds[:-1].nonzero()[0]
    numbers = columns.numbers[seed]
    pairs, owners = edges.around(view, numbers)
    reached = columns.of_numbers(graph.low[pairs] + graph.high[pairs] - numbers[owners])
    # A pair of two seeds leads nowhere.
    leading = (pool & ~seeds)[reached].nonzero()[0]
    contradicts = graph.relations.known("contradicts")
    if contradicts >= 0:
        leading = leading[view.edge_rows.column("relation", pairs[leading]) != contradicts]
    if not count or not len(leading):
        return leading[:0], {}
    reached, seed = reached[leading], seed[owners[leading]]
    weight = _effective(view, pairs[leading], seed, reached)
    # One more than the weight of the strongest edge that leads to each block.
    strongest = np.zeros(columns.count, dtype=np.int64)
    np.maximum.at(strongest, reached, weight + 1)
    found = (strongest > 0).nonzero()[0]
    if len(found) > count:
        found = found[best_of(strongest[found], columns.numbers[found], ids, k=count)]
        kept = np.zeros(columns.count, dtype=np.int64)
        kept[found] = strongest[found]
        strongest = kept
    leads = (strongest[reached] == weight + 1).nonzero()[0]
    through: dict[int, int] = {}
    ends = columns.numbers[reached[leads]].tolist(), columns.numbers[seed[leads]].tolist()
    for number, by in zip(*ends, strict=True):
        known = through.get(number)
        if known is None or ids[by] < ids[known]:
            through[number] = by
    return found, through


def _effective(view: View, pairs: Ints, one: Ints, other: Ints) -> Ints:
    """Return the effective weights of existing edges at the view's hour, given their ends."""
    graph, tiers, rows = view.state.graph, view.columns.life("tier_rate"), view.edge_rows
    rates = edge_rates(tiers[one], tiers[other], rows.column("count", pairs), view.policy)
    anchor = rows.column("anchor_us", pairs)
    idle = view.point.active_us - anchor
    idle[anchor == NO_ANCHOR] = 0
    idle[rows.column("origin", pairs) == graph.origins.known("agent")] = 0
    return effective_weights(rows.column("weight", pairs), rates, idle)
