"""Evaluation of answers: propensities, gains of blocks, and three measures.

Uses plain lists and fractions; rounded numbers are in nano-units.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from math import floor

from attrs import frozen

from mnemic.kernel.model.identity import BlockId
from mnemic.kernel.numeric.arithmetic import NANO

GOOD = {"helpful", "accepted", "submitted", "user_promoted"}
SILENT = {"needs_poc"}
"""Labels that are neither good nor bad."""


def rounded(number: Fraction) -> int:
    """Return the nearest whole number, halves up."""
    return floor(number + Fraction(1, 2))


# --- propensity ---------------------------------------------------------------------------------


def propensity(rate: int, pool: int, drawn: int) -> int:
    """Return the probability of this one of *pool* in the last place, nano-units."""
    apart = rounded(Fraction(rate, pool))
    return NANO - rate + apart if drawn == 0 else max(1, apart)


# --- gains --------------------------------------------------------------------------------------


@frozen(kw_only=True)
class Said:
    """One outcome or label, as recorded."""

    version: int
    hour: float
    blocks: tuple[BlockId, ...]
    signal: int | None = None
    """Nano-units; None for a label."""
    weight: int = NANO
    label: str | None = None
    decision: int | None = None
    """Version of the decision that it refers to."""
    taken_back: bool = False


def gains(said: Sequence[Said], *, version: int, hour: float, horizon: float) -> dict[BlockId, int]:
    """Return the gains of blocks for the decision at *version*, by evidence within *horizon*.

    Args:
        said: Outcomes and labels in any order.
        version: Version of the decision.
        hour: Active hours of the decision.
        horizon: Active hours after the decision in which evidence still counts for it.
    """
    relevant = [
        each
        for each in said
        if each.version > version
        and each.hour <= hour + horizon
        and not each.taken_back
        and each.label not in SILENT
    ]
    found: dict[BlockId, int] = {}
    for block in sorted({block for each in relevant for block in each.blocks}):
        own = [each for each in relevant if block in each.blocks and each.decision == version]
        other = [each for each in relevant if block in each.blocks and each.decision is None]
        parts = [(_signal(each), each.weight) for each in own or other]
        if parts:
            whole = sum(weight for _, weight in parts)
            total = sum(signal * weight for signal, weight in parts)
            found[block] = rounded(Fraction(total, whole))
    return found


def _signal(said: Said) -> int:
    if said.signal is not None:
        return said.signal
    return NANO if said.label in GOOD else 0


# --- measures -----------------------------------------------------------------------------------


@frozen(kw_only=True)
class PlainMeasured:
    """Each as (judged, floor, ceiling), nano-units; None if it is undefined."""

    ndcg: tuple[int, int, int] | None
    hit: tuple[int, int, int] | None
    reward: tuple[int | None, int, int] | None


def measured(places: Sequence[int | None], judged: Sequence[int], k: int) -> PlainMeasured:
    """Return the three measures of an answer.

    Args:
        places: Gains by place, best first, nano-units; None: not judged.
        judged: All judged gains, in the answer or not.
        k: Number of places of the longest answer.
    """
    known = [gain for gain in places if gain is not None]
    useless = [gain or 0 for gain in places]
    decisive = [NANO if gain is None else gain for gain in places]
    ideal = dcg(sorted(judged)[::-1][:k])
    sides = (known, useless, decisive)
    ndcg = hit = reward = None
    if ideal:
        low, middle, high = (min(NANO, rounded(dcg(side) / ideal * NANO)) for side in sides)
        ndcg = (low, middle, high)
    if judged:
        first, second, third = (
            NANO if any(2 * gain > NANO for gain in side) else 0 for side in sides
        )
        hit = (first, second, third)
    if judged and places:
        one, two, three = (rounded(Fraction(sum(side), len(side) or 1)) for side in sides)
        reward = (one if known else None, two, three)
    return PlainMeasured(ndcg=ndcg, hit=hit, reward=reward)


def dcg(gains: Sequence[int]) -> Fraction:
    """Return the sum of gains, each multiplied by the discount of its place."""
    return sum(
        (Fraction(gain) * discount(rank) for rank, gain in enumerate(gains, start=1)), Fraction(0)
    )


def discount(rank: int) -> int:
    """Return 1 / log2(1 + rank) in nano-units, computed with forty digits."""
    with localcontext(prec=40):
        return rounded(Fraction(Decimal(2).ln() / Decimal(1 + rank).ln() * NANO))


def corrected(shown: Sequence[tuple[int, int]]) -> int | None:
    """Return the mean of gains, each weighted by 1 / its probability to be shown, nano-units."""
    whole = sum((Fraction(1, chance) for _, chance in shown), Fraction(0))
    total = sum((Fraction(gain, chance) for gain, chance in shown), Fraction(0))
    return rounded(total / whole) if shown else None
