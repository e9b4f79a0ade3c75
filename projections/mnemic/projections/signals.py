"""What a frame weighs, block by block, in nano-units."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mnemic.kernel.arithmetic import decayed_each, product_each
from mnemic.kernel.events import SIGNALS
from mnemic.kernel.policy import Frame
from mnemic.kernel.reading import ACTIVE
from mnemic.kernel.scoring import (
    age_recencies,
    centrality,
    edge_pull,
    frequency,
    reinforcement,
    usefulness,
)
from mnemic.projections.present import places
from mnemic.projections.views import View

Ints = NDArray[np.int64]

FEW = 32
"""Up to this part of all blocks, their edges are found block by block."""


def signals(
    view: View, frame: Frame, numbers: Ints, relevance: Ints | None
) -> tuple[Ints | None, ...]:
    """Return one array per name in ``SIGNALS``; None where the frame does not weigh it.

    Args:
        view: Where to look.
        frame: What counts.
        numbers: The blocks.
        relevance: Of each; None without a question.
    """
    policy = view.policy
    found: dict[str, Ints | None] = {
        "relevance": relevance,
        "recency": _recency(view, frame, numbers),
        "usefulness": usefulness(
            policy.prior + view.evidence.column("alpha", numbers),
            policy.prior + view.evidence.column("beta", numbers),
        ),
        "confidence": view.life.column("confidence", numbers),
        "frequency": frequency(view.uses.column("retrievals", numbers), policy),
        "centrality": _centrality(view, numbers) if frame.centrality else None,
        "reinforcement": None,
    }
    if frame.reinforcement:
        found["reinforcement"] = reinforcement(view.strength.column("reinforcements", numbers))
    _discount(found, view, numbers)
    return tuple(found[name] for name in SIGNALS)


def _discount(found: dict[str, Ints | None], view: View, numbers: Ints) -> None:
    """Let what a writer can pump count as far as a block's zone is trusted."""
    ceilings = view.ceilings(numbers)
    for name in view.policy.zone_discounted:
        value = found[name]
        if value is not None:
            found[name] = product_each(value, ceilings)


def _recency(view: View, frame: Frame, numbers: Ints) -> Ints:
    if frame.recency_clock == "active":
        idle = view.point.active_us - view.strength.column("reinforced_us", numbers)
        return decayed_each(view.strength.column("rate", numbers), idle)
    created = view.life.column("created_us", numbers)
    return age_recencies(created, view.point.instant_us, view.policy)


def _centrality(view: View, numbers: Ints) -> Ints:
    """Return each block's weighted degree over the greatest among *numbers*, which are rising.

    An edge takes no part until both of its ends are active.
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
        # Whole numbers far below 2**53, whose sums a float holds exactly.
        total += np.bincount(at[at >= 0], pull[at >= 0], len(numbers)).astype(np.int64)
    return centrality(total)
