"""Signals: the values a frame weighs, block by block, in nano-units."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mnemic.kernel.events import SIGNALS
from mnemic.kernel.model.blocks import ACTIVE
from mnemic.kernel.numeric.arithmetic import NANO, product_each
from mnemic.kernel.policy import Frame
from mnemic.kernel.scoring.signals import (
    LAPSED,
    centrality,
    edge_pull,
    reinforcement,
)
from mnemic.projections.retrieval.recency import recency
from mnemic.projections.storage.sorted_arrays import places
from mnemic.projections.view import View
from mnemic.projections.view.active_columns import At

Ints = NDArray[np.int64]

FEW = 32
"""Up to one in this many of all blocks, edges are found block by block."""


def signals(
    view: View,
    frame: Frame,
    at: At,
    relevance: Ints | None,
    *,
    known_recency: Ints | None = None,
) -> tuple[Ints | None, ...]:
    """Return one array per name in ``SIGNALS``; None where the frame does not weigh it.

    Args:
        view: The view to read.
        frame: The weights.
        at: The blocks.
        relevance: Relevance of each block; None without a question.
        known_recency: Recency of each block by the clock of the frame, if it is computed already.
    """
    columns = view.columns
    found: dict[str, Ints | None] = {
        "relevance": relevance,
        "recency": recency(view, frame.recency_clock, at)
        if known_recency is None
        else known_recency,
        "centrality": _centrality(view, columns.numbers_at(at)) if frame.centrality else None,
        "reinforcement": None,
    }
    if frame.reinforcement:
        found["reinforcement"] = reinforcement(columns.strength("reinforcements")[at])
    _discount(found, view, at)
    for name in ("usefulness", "confidence", "frequency"):
        found[name] = columns.signal(name)[at]
    _lapse(found, view, at)
    return tuple([found[name] for name in SIGNALS])


def _lapse(found: dict[str, Ints | None], view: View, at: At) -> None:
    """Halve every signal of a block whose fact does not hold at the moment of the view.

    No log of a release before periods has such a block, so no earlier decision is affected.

    Source: docs/adr/0060; specs/reference/recall.py.
    """
    if view.state.catalogue.periods.only_always:
        return
    lapsed = ~view.holding(view.columns.numbers_at(at))
    if lapsed.any():
        share = np.where(lapsed, LAPSED, NANO)
        for name, value in found.items():
            found[name] = None if value is None else product_each(value, share)


def _discount(found: dict[str, Ints | None], view: View, at: At) -> None:
    """Limit signals that a writer can inflate by the trust in a block's zone."""
    for name in view.policy.zone_discounted:
        value = found.get(name)
        if value is not None:
            found[name] = product_each(value, view.columns.ceilings[at])


def _centrality(view: View, numbers: Ints) -> Ints:
    """Return each block's weighted degree over the greatest among *numbers*, which are ascending.

    An edge does not count until both of its ends are active.
    """
    graph, few = view.state.graph, FEW * len(numbers) <= len(view.with_status(ACTIVE))
    pairs = view.pairs_at(numbers) if few else view.pairs()
    low, high = graph.low[pairs].astype(np.int64), graph.high[pairs].astype(np.int64)
    active = view.are_active(low) & view.are_active(high)
    pairs, low, high = pairs[active], low[active], high[active]
    pull = edge_pull(
        view.edge_rows.column("weight", pairs), view.edge_rows.column("count", pairs), view.policy
    )
    total = np.zeros(len(numbers), dtype=np.int64)
    for ends in (low, high):
        at = places(numbers, ends)
        # Integers far below 2**53, whose sums a float holds exactly.
        total += np.bincount(at[at >= 0], pull[at >= 0], len(numbers)).astype(np.int64)
    return centrality(total)
