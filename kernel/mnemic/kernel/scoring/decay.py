"""Decay: tiers of blocks, rates of edges, and effective weights after idle time.

All rates are nano-units per active hour, all times microseconds of active time.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from mnemic.kernel.numeric.arithmetic import (
    decayed,
    decayed_each,
    nano,
    product,
    product_each,
)
from mnemic.kernel.policy import CONSTITUTIONAL, Policy

Ints = NDArray[np.int64]


def tier_rate(
    tags: Collection[str], category: str, policy: Policy, *, privileged: bool = True
) -> int:
    """Return the decay rate of a block with *tags* and *category*, by first match.

    Args:
        tags: Tags of the block.
        category: Category of the block.
        policy: The policy that defines the rates.
        privileged: Whether the block's zone grants the privileges of tags; if not, tags do not
            slow decay.

    Source: DOMAIN section 3; specs/decay.toml, rule "tier".
    """
    if privileged and CONSTITUTIONAL in tags:
        return nano(policy.rate_permanent)
    if privileged and any(tag in tags for tag in policy.durable_tags):
        return nano(policy.rate_durable)
    if category in policy.ephemeral_categories:
        return nano(policy.rate_ephemeral)
    return nano(policy.rate_standard)


def halved(rate: int) -> int:
    """Return half of *rate*, rounded up to whole nano-units."""
    return (rate + 1) // 2


def edge_rate(rate_a: int, rate_b: int, count: int, policy: Policy) -> int:
    """Return the decay rate of an edge between blocks of tier rates *rate_a* and *rate_b*.

    Half the rate of the more stable end, halved again once established.

    Source: seed 004 section 3.1; specs/decay.toml, rule "edge-rate".
    """
    rate = halved(min(rate_a, rate_b))
    return halved(rate) if count >= policy.established_count else rate


def edge_rates(rates_a: Ints, rates_b: Ints, counts: Ints, policy: Policy) -> Ints:
    """Return ``edge_rate`` of many edges."""
    rates = (np.minimum(rates_a, rates_b) + 1) // 2
    return np.where(counts >= policy.established_count, (rates + 1) // 2, rates)


def effective_weight(weight: int, rate: int, idle_us: int) -> int:
    """Return *weight* decayed by *idle_us* of active time without use.

    Args:
        weight: Weight at the anchor, nano-units.
        rate: Decay per active hour, nano-units.
        idle_us: Active time since the anchor; a negative value counts as 0.

    Returns:
        Nano-units, never more than *weight*.

    Source: seed 004 section 3.2; specs/decay.toml, rule "edge".
    """
    return product(weight, decayed(rate, idle_us))


def effective_weights(weights: Ints, rates: Ints, idle_us: Ints) -> Ints:
    """Return ``effective_weight`` of many edges."""
    return product_each(weights, decayed_each(rates, idle_us))


def penalised(rate: int, tier: int, policy: Policy) -> int:
    """Return the rate of a block after a bad outcome; durable and permanent blocks keep theirs.

    Args:
        rate: The current rate of the block.
        tier: The rate of its tier.
        policy: The policy that defines the factor and the ceiling.

    Source: DOMAIN section 6.
    """
    if tier <= nano(policy.rate_durable):
        return rate
    return max(rate, min(round(rate * policy.penalty_factor), nano(policy.penalty_ceiling)))
