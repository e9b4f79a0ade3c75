"""How good an answer was, told slowly: what chance allowed, how blocks fared, and three measures.

Plain lists and fractions throughout; numbers in nano-units where they are rounded.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from math import floor

from attrs import frozen

from mnemic.kernel.arithmetic import NANO
from mnemic.kernel.identity import BlockId

GOOD = {"helpful", "accepted", "submitted", "user_promoted"}
SILENT = {"needs_poc"}
"""Labels that say neither."""


def rounded(number: Fraction) -> int:
    """Return the nearest whole number, halves up."""
    return floor(number + Fraction(1, 2))


# --- what chance allowed ------------------------------------------------------------------------


def propensity(rate: int, pool: int, drawn: int) -> int:
    """Return how probable it was that this one of *pool* stood in the last place, nano-units."""
    apart = rounded(Fraction(rate, pool))
    return NANO - rate + apart if drawn == 0 else max(1, apart)


# --- how blocks fared ---------------------------------------------------------------------------


@frozen(kw_only=True)
class Said:
    """One outcome or label, as it was written."""

    version: int
    hour: float
    blocks: tuple[BlockId, ...]
    signal: int | None = None
    """Nano-units; None for a label."""
    weight: int = NANO
    label: str | None = None
    decision: int | None = None
    """Version of the decision that it names."""
    taken_back: bool = False


def gains(said: Sequence[Said], *, version: int, hour: float, horizon: float) -> dict[BlockId, int]:
    """Return how well blocks served the decision at *version*, as was said within *horizon*.

    Args:
        said: In any order.
        version: Of the decision.
        hour: Active hours of it.
        horizon: Active hours after it in which something still speaks of it.
    """
    heard = [
        each
        for each in said
        if each.version > version
        and each.hour <= hour + horizon
        and not each.taken_back
        and each.label not in SILENT
    ]
    found: dict[BlockId, int] = {}
    for block in sorted({block for each in heard for block in each.blocks}):
        own = [each for each in heard if block in each.blocks and each.decision == version]
        other = [each for each in heard if block in each.blocks and each.decision is None]
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


# --- how good an answer was ---------------------------------------------------------------------


@frozen(kw_only=True)
class PlainMeasured:
    """Each as (judged, floor, ceiling), nano-units; None where it cannot be told."""

    ndcg: tuple[int, int, int] | None
    hit: tuple[int, int, int] | None
    reward: tuple[int | None, int, int] | None


def measured(places: Sequence[int | None], judged: Sequence[int], k: int) -> PlainMeasured:
    """Return the three measures of an answer.

    Args:
        places: Gains by place, best first, nano-units; None: not judged.
        judged: All gains that could have been had.
        k: How many places the longest answer has.
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
    """Return the sum of gains, each by what its place counts."""
    return sum(
        (Fraction(gain) * discount(rank) for rank, gain in enumerate(gains, start=1)), Fraction(0)
    )


def discount(rank: int) -> int:
    """Return 1 / log2(1 + rank) in nano-units, by forty digits."""
    with localcontext(prec=40):
        return rounded(Fraction(Decimal(2).ln() / Decimal(1 + rank).ln() * NANO))


def corrected(shown: Sequence[tuple[int, int]]) -> int | None:
    """Return the mean of gains, each weighed by 1 / how probable it was to be shown, nano-units."""
    whole = sum((Fraction(1, chance) for _, chance in shown), Fraction(0))
    total = sum((Fraction(gain, chance) for gain, chance in shown), Fraction(0))
    return rounded(total / whole) if shown else None
