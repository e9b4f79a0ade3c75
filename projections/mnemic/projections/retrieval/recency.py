"""Recency of blocks by either clock, exactly and approximately."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from mnemic.kernel.numeric.arithmetic import (
    MICROS_PER_DAY,
    MICROS_PER_HOUR,
    NANO,
    decayed_each,
    exp_each,
)
from mnemic.kernel.scoring.signals import UNKNOWN, age_recencies
from mnemic.projections.view import View

Ints = NDArray[np.int64]
Floats = NDArray[np.float32]

STEPS: Final = 1024
"""Steps of the table per unit: between two of them interpolation is at most 2e-7 off."""
EXPONENT_MAX: Final = 20
"""Beyond it e**-x is below 3e-9."""
_EXACT: Final = exp_each(np.arange(STEPS * EXPONENT_MAX + 2) / -STEPS)
_DECAY: Final = _EXACT.astype(np.float32)
_RISE: Final = np.diff(_EXACT).astype(np.float32)


def recency(view: View, clock: str, numbers: Ints) -> Ints:
    """Return the recency of each block, nano-units.

    Args:
        view: The view, whose point is now.
        clock: ``active``: decay of the block since it was last reinforced, in active hours.
            ``created``: by its age in days.
        numbers: The blocks.
    """
    if clock == "active":
        idle = view.point.active_us - view.strength.column("reinforced_us", numbers)
        return decayed_each(view.strength.column("rate", numbers), idle)
    created = view.life.column("created_us", numbers)
    return age_recencies(created, view.point.instant_us, view.policy)


def rough_recency(view: View, clock: str, numbers: Ints) -> Floats:
    """Return ``recency`` as fractions, at most 1e-6 away: faster, for very many blocks."""
    if clock == "active":
        idle = view.point.active_us - view.strength.column("reinforced_us", numbers)
        exponent = view.strength.column("rate", numbers).astype(np.float32)
        exponent *= np.maximum(idle, 0).astype(np.float32)
        exponent *= np.float32(1 / (NANO * MICROS_PER_HOUR))
        return _rough_decay(exponent)
    policy, created = view.policy, view.life.column("created_us", numbers)
    known = created != UNKNOWN
    age = np.maximum(view.point.instant_us - np.where(known, created, 0), 0).astype(np.float32)
    fresh = _rough_decay(age * np.float32(policy.recency_rate_days / MICROS_PER_DAY))
    rough: Floats = np.where(known, fresh, np.float32(policy.recency_unknown))
    return rough


def _rough_decay(exponents: Floats) -> Floats:
    """Return exp(-x) of each exponent, at least 0, by linear interpolation."""
    place: Floats = np.minimum(exponents * np.float32(STEPS), np.float32(len(_RISE) - 1))
    whole = np.floor(place)
    place -= whole
    low = whole.astype(np.intp)
    place *= _RISE.take(low)
    place += _DECAY.take(low)
    return place
