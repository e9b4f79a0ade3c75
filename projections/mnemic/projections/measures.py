"""How good an answer was, given how well some of its blocks served.

A place is judged or not. Three measures, each with what it would be if every unjudged place had
been useless, and if every one had been decisive:

* nDCG: judged places alone, moved up; beside the best order of everything that is judged.
* hit: whether something served, that is, more than not.
* reward: how well the judged places served on average.

Whole numbers of nano-units throughout, so that a mean over decisions is exact.

Source: Järvelin and Kekäläinen (2002) for the discount; Sakai (2007) for judged places alone;
specs/backtests.toml; specs/reference/ranking.py says the same slowly.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cache
from typing import Final

from attrs import frozen

from mnemic.kernel.arithmetic import NANO, ln, nano, share

HIT: Final = NANO // 2
"""A gain above which a block served."""


@frozen
class Measure:
    """One measure of one answer. Nano-units, [0, 1]."""

    judged: int | None
    """Of what is judged; None where only the bounds can be told."""
    floor: int
    """With the unjudged counted 0."""
    ceiling: int
    """With the unjudged counted 1."""


@frozen(kw_only=True)
class Measured:
    """All there is to say of one answer."""

    places: int
    judged: int
    """Places that are judged."""
    ndcg: Measure | None
    """None where nothing that is judged served at all: every order is as good."""
    hit: Measure | None
    """None where nothing of any answer is judged."""
    reward: Measure | None
    """None where nothing of any answer is judged, and of an empty answer."""


@cache
def discount(rank: int) -> int:
    """Return what a place counts: 1 / log2(1 + rank), nano-units.

    Args:
        rank: From 1.
    """
    return nano(ln(2.0) / ln(1.0 + rank))


def measure(places: Sequence[int | None], judged: Iterable[int], *, k: int) -> Measured:
    """Return how good an answer was.

    Args:
        places: The gain of each place, best first, nano-units; None where it is not judged.
        judged: Every gain that could have been had: those of all answers that are compared.
        k: As many places as the longest of them has.
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
class SelfNormalised:
    """A mean that is corrected for what chance let be seen."""

    mean: int
    """Nano-units."""
    blocks: int
    """How many shown and judged blocks it rests on."""
    effective: float
    """As how many it is worth, were each as probable as any other (Kish)."""


def self_normalised(shown: Sequence[tuple[int, int]]) -> SelfNormalised | None:
    """Return the mean gain of blocks, each weighed by how improbable it was to be seen.

    Args:
        shown: For each block that was shown, is judged and would be shown: its gain, and how
            probable it was that it was shown. Nano-units, the latter above 0.

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
