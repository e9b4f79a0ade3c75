"""Signals, scores and rates, one number at a time.

A signal is in nano-units, rounded before it is weighted; a sum is rounded once, half up. If a
formula needs a float, its steps are in the order that the contract's arithmetic prescribes, since
another order could give a result that is one nano-unit off.

Source: DOMAIN sections 3, 4, 6 and 7.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from mnemic.kernel.numeric.arithmetic import (
    MICROS_PER_DAY,
    MICROS_PER_HOUR,
    NANO,
    exp,
    ln,
    nano,
)
from mnemic.kernel.policy import Frame, Policy

Id = TypeVar("Id", bound=str)

SIGNALS: tuple[str, ...] = (
    "relevance",
    "recency",
    "usefulness",
    "confidence",
    "frequency",
    "centrality",
    "reinforcement",
)


# --- whole numbers ----------------------------------------------------------------------------


def times(a: int, b: int) -> int:
    """Return the product of two nano-unit numbers, rounded half up."""
    return (a * b + NANO // 2) // NANO


def fraction(part: int, whole: int) -> int:
    """Return part over whole in nano-units, rounded half up; 0 of 0 is 0."""
    if whole == 0:
        return 0
    return (part * NANO + whole // 2) // whole


def weighted_sum(terms: Sequence[tuple[int, int]]) -> int:
    """Return the sum of weight times signal, rounded half up once at the end."""
    total = 0
    for weight, signal in terms:
        total += weight * signal
    return (total + NANO // 2) // NANO


def instant_us(text: str) -> int:
    """Return an ISO 8601 time as microseconds since the epoch; without an offset it is UTC."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


# --- edges ------------------------------------------------------------------------------------


def cosine(a: Sequence[int], b: Sequence[int]) -> int:
    """Return the cosine of two integer vectors; 0 if one of them is zero."""
    dot = norm_a = norm_b = 0
    for x, y in zip(a, b, strict=True):
        dot += x * y
        norm_a += x * x
        norm_b += y * y
    if norm_a == 0 or norm_b == 0:
        return 0
    return nano(float(dot) / math.sqrt(float(norm_a * norm_b)))


def jaccard(a: Collection[str], b: Collection[str]) -> int:
    """Return shared tags over all tags."""
    shared = {tag for tag in a if tag in b}
    return fraction(len(shared), len({*a, *b}))


def temporal(delta_us: int, policy: Policy) -> int:
    """Return exp(-Δh² / (2·sigma²))."""
    sigma = policy.temporal_sigma_hours
    hours = abs(float(delta_us)) / MICROS_PER_HOUR
    return nano(exp(-(hours * hours) / (2.0 * sigma * sigma)))


def edge_score(
    similarity: int,
    tags_a: Collection[str],
    tags_b: Collection[str],
    *,
    same_category: bool,
    delta_us: int,
    policy: Policy,
) -> int:
    """Return the score of two blocks; 0 when their cosine is below the guard.

    Args:
        similarity: Their cosine, nano-units.
        tags_a: Tags of one block.
        tags_b: Tags of the other.
        same_category: Whether their categories are equal.
        delta_us: Active time between their last reinforcements.
        policy: The policy.
    """
    if similarity < nano(policy.cosine_guard):
        return 0
    category = NANO if same_category else nano(policy.cross_category)
    terms = [
        (nano(policy.edge_cosine), max(0, similarity)),
        (nano(policy.edge_tags), jaccard(tags_a, tags_b)),
        (nano(policy.edge_category), category),
        (nano(policy.edge_temporal), temporal(delta_us, policy)),
    ]
    return weighted_sum(terms)


# --- decay ------------------------------------------------------------------------------------


def what_is_left(rate: int, idle_us: int) -> int:
    """Return exp(-rate·idle hours) in nano-units; a negative idle time counts as 0."""
    idle_us = max(idle_us, 0)
    return nano(exp(float(rate) * float(idle_us) / -float(NANO * MICROS_PER_HOUR)))


def tier_rate(
    tags: Collection[str], category: str, policy: Policy, *, privileged: bool = True
) -> int:
    """Return a block's decay per active hour, by first match; tags count if privileged."""
    if privileged and "self/constitutional" in tags:
        return nano(policy.rate_permanent)
    for tag in policy.durable_tags:
        if privileged and tag in tags:
            return nano(policy.rate_durable)
    if category in policy.ephemeral_categories:
        return nano(policy.rate_ephemeral)
    return nano(policy.rate_standard)


def edge_rate(tier_a: int, tier_b: int, count: int, policy: Policy) -> int:
    """Return ½·min of the ends' tier rates, halved again once established; a half rounds up."""
    rate = (min(tier_a, tier_b) + 1) // 2
    if count >= policy.established_count:
        rate = (rate + 1) // 2
    return rate


def effective_weight(weight: int, rate: int, idle_us: int) -> int:
    """Return the weight of an edge after idle time."""
    return times(weight, what_is_left(rate, idle_us))


def penalised(rate: int, tier: int, policy: Policy) -> int:
    """Return a block's rate after a bad outcome: doubled up to the ceiling, if its tier allows."""
    if tier <= nano(policy.rate_durable):
        return rate
    worse = round(rate * policy.penalty_factor)
    return max(rate, min(worse, nano(policy.penalty_ceiling)))


def first_below(falling: Callable[[int], int], threshold: int) -> int:
    """Return the first whole number, from 0, at which a falling function is below *threshold*."""
    above, below = 0, 1
    while falling(below) >= threshold:
        above, below = below, 2 * below
    while below - above > 1:
        middle = (above + below) // 2
        if falling(middle) >= threshold:
            above = middle
        else:
            below = middle
    return below


# --- signals ----------------------------------------------------------------------------------


def age_recency(created_us: int | None, now_us: int, policy: Policy) -> int:
    """Return exp(-0.05·days); neutral if the age is unknown, 1 if it is in the future."""
    if created_us is None:
        return nano(policy.recency_unknown)
    days = float(max(0, now_us - created_us)) / float(MICROS_PER_DAY)
    return nano(exp(-policy.recency_rate_days * days))


def usefulness(alpha: int, beta: int) -> int:
    """Return the mean of Beta(alpha, beta)."""
    return fraction(alpha, alpha + beta)


def frequency(retrievals: int, policy: Policy) -> int:
    """Return retrievals over the cap, at most 1; a cap of 0 counts as 1."""
    cap = max(1, policy.frequency_cap)
    return fraction(min(retrievals, cap), cap)


def reinforcement(count: int, greatest: int) -> int:
    """Return ln(1 + count) / ln(1 + greatest)."""
    if greatest == 0:
        return 0
    return nano(ln(1.0 + float(count)) / ln(1.0 + float(greatest)))


def pull(weight: int, count: int, policy: Policy) -> int:
    """Return the contribution of an edge to the degree of each of its ends."""
    return weight + nano(policy.centrality_count_bonus * ln(1.0 + float(count)))


def frame_weights(frame: Frame, *, asked: bool) -> dict[str, int]:
    """Return the weights of a frame; without a question, all but relevance, rescaled to 1."""
    weights = {name: nano(getattr(frame, name)) for name in SIGNALS}
    if asked:
        return weights
    weights["relevance"] = 0
    rest = sum(weights.values())
    return {name: fraction(weight, rest) for name, weight in weights.items()}


def composite(weights: Mapping[str, int], signals: Mapping[str, int]) -> int:
    """Return the weighted sum of signals; a missing signal counts as 0."""
    return weighted_sum([(weight, signals.get(name, 0)) for name, weight in weights.items()])


def ranked(scores: Mapping[Id, int]) -> list[Id]:
    """Return ids by score, highest first; equal scores by id."""
    return sorted(scores, key=lambda one: (-scores[one], one))


# --- verdicts ---------------------------------------------------------------------------------


def near_verdict(similarity: int, *, categories: Collection[str], policy: Policy) -> str:
    """Return the verdict on a new block by its cosine to another one.

    Args:
        similarity: Nano-units.
        categories: Of the new block and of the old one.
        policy: The policy that defines the band.

    Returns:
        ``noted`` or ``apart``.
    """
    for category in categories:
        if category in policy.near_duplicate_exempt:
            return "apart"
    return "noted" if similarity >= nano(policy.near_duplicate_noted) else "apart"


def curate_advice(*, pruned: int, decayed: int, left: int) -> str:
    """Return the level of advice in a sweep's summary: ``none``, ``tip`` or ``escalated``.

    Args:
        pruned: Number of edges removed for being weak and unused.
        decayed: Number of edges removed for having decayed.
        left: Number of edges that remained, before pending ones were admitted.
    """
    if decayed == 0:
        return "none"
    gone = pruned + decayed
    # More than a quarter, in whole numbers.
    return "escalated" if 4 * gone > gone + left else "tip"
