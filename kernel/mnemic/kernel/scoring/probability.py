"""Probability that a block bears on a question, and the verdict on a whole answer.

Strength ranks blocks for one question; its scale depends on the question and the memory. Here the
parts of a match are weighed so that the sum can be read as log-odds:

    b            = sum of weight * part + bias
    probability  = 1 / (1 + exp(-b))
    answerable   = 1 / (1 + exp(-(slope * greatest b + bias)))
    verdict      = yes, weak or no, by two thresholds on answerable

All weights belong to the policy; they were fitted offline (benchmarks/abstention.py) or to the
outcomes of a space (``calibrate``).

Rules of this module:

1. A weight counts in whole millionths and a part in whole nano-units, so the sum is an exact
   integer, rounded once to nano-units. The exponential is the kernel's own. So a replay gives the
   same numbers on every machine.
2. Source: docs/adr/0042; specs/abstention.toml.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from mnemic.kernel.numeric.arithmetic import LOGISTIC_MAX, exp, logistic_nano_each, nano
from mnemic.kernel.policy import Policy

Ints = NDArray[np.int64]

PARTS: Final = ("lexical", "cosine", "author", "date", "rarity", "own", "missed")
"""The parts of a match that count, in this order."""

YES, WEAK, NO = "yes", "weak", "no"

MICRO: Final = 10**6


def log_odds(policy: Policy, parts: Sequence[Ints] | Ints) -> Ints:
    """Return the log-odds that each block bears on the question, nano-units.

    Args:
        policy: The policy with the weights.
        parts: One array per name in ``PARTS``, nano-units in [0, 1].
    """
    total: Ints = np.array(policy.probability_weights, dtype=np.int64) @ np.array(parts)
    return (total + MICRO // 2) // MICRO + nano(policy.probability_bias)


def probabilities(policy: Policy, parts: Sequence[Ints]) -> Ints:
    """Return the probability that each block bears on the question, nano-units in [0, 1]."""
    return logistic(log_odds(policy, parts))


def answerable(policy: Policy, greatest: int) -> int:
    """Return the probability that an answer bears on its question, nano-units in [0, 1].

    Args:
        policy: The policy with slope and bias.
        greatest: The greatest log-odds among its blocks, nano-units.
    """
    slope = round(policy.answerable_slope * MICRO)
    steps = (slope * greatest + MICRO // 2) // MICRO + nano(policy.answerable_bias)
    exponent = min(LOGISTIC_MAX, max(-LOGISTIC_MAX, steps / -1e9))
    return nano(1.0 / (1.0 + exp(exponent)))


def verdict(policy: Policy, value: int) -> str:
    """Return what *value*, an ``answerable`` in nano-units, means: ``yes``, ``weak`` or ``no``."""
    if value >= nano(policy.verdict_yes):
        return YES
    return WEAK if value >= nano(policy.verdict_weak) else NO


def logistic(steps: Ints) -> Ints:
    """Return 1 / (1 + exp(-steps)); argument and result in nano-units."""
    return logistic_nano_each(steps / 1e9)
