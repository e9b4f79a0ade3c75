"""Quality measures of an answer, given the gains of some of its blocks.

A place is judged or not. Three measures, each with its value if every unjudged place had
been useless, and if every one had been decisive:

* nDCG: judged places alone, moved up; relative to the best order of everything that is judged.
* hit: whether any place has a gain of more than a half.
* reward: the average gain of the judged places.

Integer nano-units throughout, so that a mean over decisions is exact.

Source: Järvelin and Kekäläinen (2002) for the discount; Sakai (2007) for judged places alone;
specs/backtests.toml; specs/reference/ranking.py says the same slowly.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cache
from typing import Final

from attrs import frozen

from mnemic.kernel.numeric.arithmetic import (
    NANO,
    ln,
    nano,
    share,
)
from mnemic.kernel.values import Value

HIT: Final = NANO // 2
"""A gain above which a block counts as a hit."""


@frozen
class Measure(Value):
    """One measure of one answer. Nano-units, [0, 1]."""

    judged: int | None
    """Over judged places; None if only the bounds are known."""
    floor: int
    """With unjudged places counted as 0."""
    ceiling: int
    """With unjudged places counted as 1."""


@frozen(kw_only=True)
class Measured(Value):
    """All measures of one answer."""

    places: int
    judged: int
    """Number of judged places."""
    ndcg: Measure | None
    """None if nothing that is judged has any gain: every order is equally good."""
    hit: Measure | None
    """None if nothing of any answer is judged."""
    reward: Measure | None
    """None if nothing of any answer is judged, and for an empty answer."""


@cache
def discount(rank: int) -> int:
    """Return the weight of a place: 1 / log2(1 + rank), nano-units.

    Args:
        rank: From 1.
    """
    return nano(ln(2.0) / ln(1.0 + rank))


def measure(places: Sequence[int | None], judged: Iterable[int], *, k: int) -> Measured:
    """Return the quality measures of an answer.

    Args:
        places: The gain of each place, best first, nano-units; None where it is not judged.
        judged: Every attainable gain: those of all answers that are compared.
        k: Number of places of the longest of them.
    """
    best = sorted(judged, reverse=True)
    known = [gain for gain in places if gain is not None]
    return Measured(
        places=len(places),
        judged=len(known),
        ndcg=_ndcg(places, known, best[:k]),
        hit=_hit(places, known) if best else None,
        reward=_reward(places, known) if best and places else None,
    )


def _ndcg(places: Sequence[int | None], known: list[int], best: list[int]) -> Measure | None:
    ideal = _dcg(best)
    if not ideal:
        return None
    useless = [0 if gain is None else gain for gain in places]
    decisive = [NANO if gain is None else gain for gain in places]
    return Measure(
        share(_dcg(known), ideal),
        share(_dcg(useless), ideal),
        min(NANO, share(_dcg(decisive), ideal)),
    )


def _dcg(gains: Sequence[int]) -> int:
    return sum(gain * discount(rank) for rank, gain in enumerate(gains, start=1))


def _hit(places: Sequence[int | None], known: list[int]) -> Measure:
    hit = NANO * any(gain > HIT for gain in known)
    return Measure(hit, hit, NANO if len(known) < len(places) else hit)


def _reward(places: Sequence[int | None], known: list[int]) -> Measure:
    total, unjudged = sum(known), len(places) - len(known)
    return Measure(
        share(total, NANO * len(known)) if known else None,
        share(total, NANO * len(places)),
        share(total + NANO * unjudged, NANO * len(places)),
    )


@frozen
class SelfNormalised(Value):
    """A mean corrected for the probability of being shown (self-normalised estimator)."""

    mean: int
    """Nano-units."""
    blocks: int
    """Number of shown and judged blocks it is based on."""
    effective: float
    """Effective sample size: the number of equally probable blocks it is worth (Kish)."""


def self_normalised(shown: Sequence[tuple[int, int]]) -> SelfNormalised | None:
    """Return the mean gain of blocks, weighted by the inverse probability of being shown.

    Args:
        shown: For each block that was shown, is judged and would be shown: its gain, and the
            probability with which it was shown. Nano-units, the latter above 0.

    Source: Swaminathan and Joachims (2015); specs/backtests.toml, rule "self-normalised".
    """
    if not shown:
        return None
    weights = [Fraction(NANO, propensity) for _, propensity in shown]
    whole = sum(weights, Fraction())
    parts = (weight * gain for weight, (gain, _) in zip(weights, shown, strict=True))
    mean = sum(parts, Fraction()) / whole
    return SelfNormalised(
        (2 * mean.numerator + mean.denominator) // (2 * mean.denominator),
        len(shown),
        float(whole**2 / sum(weight**2 for weight in weights)),
    )
