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
from mnemic.projections.view.active_columns import At

Ints = NDArray[np.int64]
Floats = NDArray[np.float32]

STEPS: Final = 1024
"""Steps of the table per unit: between two of them interpolation is at most 2e-7 off."""
EXPONENT_MAX: Final = 20
"""Beyond it e**-x is below 3e-9."""
_EXACT: Final = exp_each(np.arange(STEPS * EXPONENT_MAX + 2) / -STEPS)
_DECAY: Final = _EXACT.astype(np.float32)
_RISE: Final = np.diff(_EXACT).astype(np.float32)


def recency(view: View, clock: str, at: At) -> Ints:
    """Return the recency of each block, nano-units.

    Args:
        view: The view, whose point is now.
        clock: ``active``: decay of the block since it was last reinforced, in active hours.
            ``created``: by its age in days.
        at: The blocks.
    """
    columns = view.columns
    if clock == "active":
        idle = view.point.active_us - columns.strength("reinforced_us")[at]
        return decayed_each(columns.strength("rate")[at], idle)
    created = columns.life("created_us")[at]
    return age_recencies(created, view.point.instant_us, view.policy)


def rough_recency(view: View, clock: str, at: At) -> Floats:
    """Return ``recency`` as fractions, at most 1e-6 away: faster, for very many blocks."""
    columns = view.columns
    if clock == "active":
        idle = view.point.active_us - columns.strength("reinforced_us")[at]
        exponent = np.maximum(idle, 0, out=idle).astype(np.float32)
        rates = columns.strength("rate")
        every: Floats = columns.following("rough rates", lambda: _per_microsecond(rates), rates)
        exponent *= every[at]
        return _rough_decay(exponent)
    policy, created = view.policy, columns.life("created_us")[at]
    known = created != UNKNOWN
    age = np.maximum(view.point.instant_us - np.where(known, created, 0), 0).astype(np.float32)
    fresh = _rough_decay(age * np.float32(policy.recency_rate_days / MICROS_PER_DAY))
    rough: Floats = np.where(known, fresh, np.float32(policy.recency_unknown))
    return rough


def _per_microsecond(rates: Ints) -> Floats:
    """Return decay rates, nano-units per hour, as rough fractions per microsecond."""
    found: Floats = rates.astype(np.float32)
    found *= np.float32(1 / (NANO * MICROS_PER_HOUR))
    return found


def _rough_decay(exponents: Floats) -> Floats:
    """Return exp(-x) of each exponent, at least 0, by linear interpolation."""
    place: Floats = np.minimum(exponents * np.float32(STEPS), np.float32(len(_RISE) - 1))
    whole = np.floor(place)
    place -= whole
    low = whole.astype(np.intp)
    place *= _RISE.take(low)
    place += _DECAY.take(low)
    return place
