"""Trust in a memory: how well it is remembered, by its record of reviews.

Source: reference composed-graph section 3, stage 3; specs/deliberation.toml, rule "trust".
"""

from __future__ import annotations

from typing import Final

from mnemic.kernel.numeric.arithmetic import (
    NANO,
    nano,
    share,
    weighted,
)

WEIGHTS: Final = (400_000_000, 200_000_000, 200_000_000, 200_000_000)
"""Weights of retention, stability, successes and lack of lapses. Nano-units; they sum to 1."""
STABLE_DAYS: Final = 30.0
"""Stability with full weight."""
SUCCESSES: Final = 10
"""Number of good reviews with full weight."""
LAPSES: Final = 5
"""Number of lapses that reduce their part to 0."""


def trust(retention: int, stability: float, reps: int, lapses: int) -> int:
    """Return how far a memory can be trusted.

    Args:
        retention: How likely it is remembered now. Nano-units, [0, 1].
        stability: Days of 24 active hours, >= 0.
        reps: Reviews that went well.
        lapses: Reviews that did not.
    Returns:
        Nano-units, [0, 1].
    """
    parts = (
        retention,
        nano(min(1.0, stability / STABLE_DAYS)),
        share(min(reps, SUCCESSES), SUCCESSES),
        NANO - share(min(lapses, LAPSES), LAPSES),
    )
    return weighted(WEIGHTS, parts)
