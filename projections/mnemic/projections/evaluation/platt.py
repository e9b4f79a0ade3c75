"""Calibration of log-odds to judgments (Platt scaling), in plain deterministic arithmetic.

With few judgments a whole model cannot be fitted; a slope and a shift of its log-odds can:

    calibrated = slope * log_odds + shift

They minimise the log loss by Newton's method, with a penalty that draws slope to 1 and shift to 0.
Each step is rounded to whole millionths, and sums run in the order of the judgments, so the result
is the same on every machine.

Source: Platt, Probabilistic Outputs for Support Vector Machines (1999).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from attrs import frozen

from mnemic.kernel.numeric.arithmetic import exp, ln
from mnemic.kernel.values import Value

PULL: Final = 4.0
"""Weight of the penalty ``PULL / 2 * ((slope - 1)**2 + shift**2)``, in nats: a few judgments
change little."""
STEPS: Final = 50
DIGITS: Final = 6
SLOPE_LEAST, SLOPE_MOST, SHIFT_MOST = 0.1, 5.0, 50.0
"""Bounds of the slope: even judgments against every probability do not invert the order."""
CERTAIN: Final = 30.0
"""Log-odds beyond this are as good as certain."""


@frozen(kw_only=True)
class Scaling(Value):
    """A linear function of log-odds."""

    slope: float = 1.0
    shift: float = 0.0

    def __call__(self, log_odds: float) -> float:
        """Return the calibrated log-odds."""
        return self.slope * log_odds + self.shift


def scaling(log_odds: Sequence[float], labels: Sequence[bool]) -> Scaling:
    """Return the scaling that fits *labels* best.

    Args:
        log_odds: One per judgment.
        labels: Whether it was true, one per judgment.
    """
    found = Scaling()
    for _ in range(STEPS):
        step = _step(found, log_odds, labels)
        slope = min(SLOPE_MOST, max(SLOPE_LEAST, round(found.slope - step.slope, DIGITS)))
        shift = min(SHIFT_MOST, max(-SHIFT_MOST, round(found.shift - step.shift, DIGITS)))
        following = Scaling(slope=slope, shift=shift)
        if following == found:
            break
        found = following
    return found


def _step(at: Scaling, log_odds: Sequence[float], labels: Sequence[bool]) -> Scaling:
    """Return the Newton step of slope and shift: gradient over curvature, two by two."""
    by_slope, by_shift = PULL * (at.slope - 1.0), PULL * at.shift
    both_slope, mixed, both_shift = PULL, 0.0, PULL
    for odds, label in zip(log_odds, labels, strict=True):
        chance = probability(at(odds))
        error, spread = chance - label, chance * (1.0 - chance)
        by_slope += error * odds
        by_shift += error
        both_slope += spread * odds * odds
        mixed += spread * odds
        both_shift += spread
    determinant = both_slope * both_shift - mixed * mixed
    return Scaling(
        slope=(both_shift * by_slope - mixed * by_shift) / determinant,
        shift=(both_slope * by_shift - mixed * by_slope) / determinant,
    )


def log_loss(log_odds: Sequence[float], labels: Sequence[bool]) -> float:
    """Return the mean of -ln(probability of what was true); 0 without judgments."""
    total = 0.0
    for odds, label in zip(log_odds, labels, strict=True):
        total -= ln(probability(odds if label else -odds))
    return total / max(1, len(labels))


def probability(log_odds: float) -> float:
    """Return 1 / (1 + exp(-log_odds))."""
    return 1.0 / (1.0 + exp(-max(-CERTAIN, min(CERTAIN, log_odds))))
