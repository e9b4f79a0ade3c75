"""Score signals: the overlap of tags, the signals of seed 001, and their composite.

All values are nano-units, of many blocks in columns.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from mnemic.kernel.numeric.arithmetic import (
    MICROS_PER_DAY,
    NANO,
    decay_nano_each,
    ln_each,
    nano,
    nano_each,
    share,
    share_each,
    weighted,
    weighted_each,
)
from mnemic.kernel.policy import Policy

Ints = NDArray[np.int64]
SHARED_MAX = 9 * 10**15
"""Largest evidence for which shares are computed on arrays: nine million outcomes of one block."""
LAPSED = 500_000_000
"""Share of each signal that is left of a block whose fact does not hold. Nano-units."""
UNKNOWN = np.iinfo(np.int64).min
"""Value of an unknown time in an array of times."""


def jaccard(tags_a: Collection[str], tags_b: Collection[str]) -> int:
    """Return |a ∩ b| / |a ∪ b| in nano-units; 0 when both are empty."""
    first, second = set(tags_a), set(tags_b)
    return share(len(first & second), len(first | second))


def age_recencies(created_us: Ints, now_us: int, policy: Policy) -> Ints:
    """Return exp(-rate · age in days) of many blocks; ``UNKNOWN`` reads as the neutral value.

    A time in the future counts as age 0.

    Source: seed 001, DOMAIN section 6; specs/scoring.toml.
    """
    unknown = created_us == UNKNOWN
    age_us = np.maximum(0, now_us - np.where(unknown, now_us, created_us))
    days = age_us / MICROS_PER_DAY
    fresh = decay_nano_each(-policy.recency_rate_days * days)
    return np.where(unknown, nano(policy.recency_unknown), fresh)


def usefulness(alpha: Ints, beta: Ints) -> Ints:
    """Return the mean of the Beta posterior, alpha / (alpha + beta)."""
    whole = alpha + beta
    if (whole > SHARED_MAX).any():
        exact = [share(part, of) for part, of in np.column_stack((alpha, whole)).tolist()]
        return np.array(exact, dtype=np.int64)
    return share_each(alpha, whole)


def frequency(retrievals: Ints, policy: Policy) -> Ints:
    """Return min(retrievals / cap, 1)."""
    cap = max(1, policy.frequency_cap)
    return (np.minimum(retrievals, cap) * NANO + cap // 2) // cap


def reinforcement(counts: Ints) -> Ints:
    """Return ln(1 + count) / ln(1 + greatest count), over the given blocks; 0 when all are 0.

    Source: reference elfmem 2.3; specs/scoring.toml.
    """
    if counts.size == 0 or int(counts.max()) == 0:
        return np.zeros_like(counts)
    logs = ln_each(1.0 + counts.astype(np.float64))
    return nano_each(logs / logs.max())


def centrality(degrees: Ints) -> Ints:
    """Return each weighted degree over the greatest one; 0 when all are 0.

    Source: reference elfmem 2.4, without the cold-start floor.
    """
    if degrees.size == 0 or int(degrees.max()) == 0:
        return np.zeros_like(degrees)
    return share_each(degrees, np.full_like(degrees, degrees.max()))


def edge_pull(weights: Ints, counts: Ints, policy: Policy) -> Ints:
    """Return what each edge adds to the degree of its ends: weight + bonus · ln(1 + count)."""
    bonus, most = policy.centrality_count_bonus, int(counts.max(initial=0))
    if most < counts.size:  # few different counts, each of them worked out once
        every = np.arange(1.0, most + 2)
        return weights + nano_each(bonus * ln_each(every))[counts]
    return weights + nano_each(bonus * ln_each(1.0 + counts.astype(np.float64)))


def composite(weights: Sequence[int], signals: Sequence[int]) -> int:
    """Return the weighted sum of one block's signals."""
    return weighted(weights, signals)


def composites(weights: Sequence[int], signals: Sequence[Ints]) -> Ints:
    """Return ``composite`` of many blocks; one array per signal."""
    return weighted_each(weights, signals)
