"""Retention: retrievability of blocks at a view's hour, computed from their reviews.

A promotion counts as a good review, and so does an outcome above the policy's threshold; one below
the other threshold is a failed review. Being retrieved is no review. Reviews stay with their block:
a successor starts with its own promotion.

Source: DOMAIN section 8; specs/retention.toml.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mnemic.kernel.numeric import retention
from mnemic.kernel.numeric.retention import Memory
from mnemic.projections.view import View

Ints = NDArray[np.int64]


def memory_of(view: View, number: int) -> Memory | None:
    """Return stability, difficulty, reps and lapses of a block; None before its promotion."""
    return view.state.catalogue.reviews.memory(number, view.point.version)


def retrievability(view: View, numbers: Ints) -> Ints:
    """Return how likely each block is remembered at the view's hour.

    Returns:
        Nano-units in [0, NANO]; 0 for a block that was never promoted.
    """
    stability, reviewed_us = view.state.catalogue.reviews.stabilities(numbers, view.point.version)
    left = np.zeros(len(numbers), dtype=np.int64)
    known = np.flatnonzero(stability)
    left[known] = retention.retrievabilities(
        stability[known], view.point.active_us - reviewed_us[known]
    )
    return left
