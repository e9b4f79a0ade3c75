"""How likely blocks are remembered at a view's hour. Nothing of it is stored.

A promotion is a good review, an outcome above the policy's threshold too; one below the other
threshold is a failed one. Being retrieved is no review. Reviews stay with their block: whoever
supersedes it has a promotion of its own.

Source: DOMAIN section 8; specs/retention.toml.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mnemic.kernel import retention
from mnemic.kernel.retention import Memory
from mnemic.projections.views import View

Ints = NDArray[np.int64]


def memory_of(view: View, number: int) -> Memory | None:
    """Return stability, difficulty, reps and lapses of a block; None before its promotion."""
    return view.state.catalogue.reviews.memory(number, view.point.version)


def retrievability(view: View, numbers: Ints) -> Ints:
    """Return how likely each block is remembered at the view's hour.

    Returns:
        Nano-units in [0, NANO]; 0 for a block that was never promoted.
    """
    reviews, version = view.state.catalogue.reviews, view.point.version
    memories = [reviews.memory(number, version) for number in numbers.tolist()]
    found = [memory for memory in memories if memory is not None]
    left = np.zeros(len(memories), dtype=np.int64)
    left[[memory is not None for memory in memories]] = retention.retrievabilities(
        np.array([memory.stability for memory in found], dtype=np.float64),
        view.point.active_us - np.array([memory.reviewed_us for memory in found], dtype=np.int64),
    )
    return left
