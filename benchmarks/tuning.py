"""Fitting the weights of relevance to questions with known answers.

First, a question's candidates compete in a softmax over *temperature · Σ weight · part*, and the
weights that make the evidence most likely are found by gradient steps: a convex problem of a few
numbers with one best point. Then a coordinate search from there moves single weights as long as
more of the evidence comes up among the first, which is the objective but has no gradient. Nothing
is random: the same input gives the same weights.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Weights: TypeAlias = tuple[tuple[str, float], ...]

STEPS = 600
STEP = 0.5
"""Of the first step, in units of temperature · weight; it falls with the root of the number."""
PULL = 1e-3
"""Penalty of a squared weight: it spreads weight over correlated parts."""
START = 20.0
"""Initial temperature: a difference of 0.05 in a part then makes a factor of e¹."""
DEPTHS = (5, 10, 20)
"""Recall is averaged over these: at one depth alone single questions make it jump."""
FACTORS = (0.0, 0.5, 0.8, 1.25, 2.0)
"""Factors that the search tries for a weight."""
SEED = 0.03
"""Values that the search tries for a weight of 0."""
GAIN = 5e-4
"""Least gain in recall for which a weight is moved; less may be chance in one question."""
ROUNDS = 8
DIGITS = 3
"""To which weights are rounded: further digits are noise of the sample."""


@frozen
class Case:
    """One question: the parts of each candidate, and which candidates are evidence."""

    parts: Floats
    """Shape (candidates, parts), each in [0, 1]."""
    evidence: NDArray[np.bool_]
    share: float = 1.0
    """How much the question counts beside others."""


def case(
    names: Sequence[str], candidates: Sequence[tuple[Mapping[str, float], bool]]
) -> Case | None:
    """Return the case of *candidates*; None when it is not informative.

    Args:
        names: Of the parts, in the order of the weights.
        candidates: The parts of each by name, and whether it is evidence.
    """
    evidence = np.array([found for _, found in candidates], dtype=np.bool_)
    if not evidence.any() or evidence.all():
        return None
    rows = [[parts.get(name, 0.0) for name in names] for parts, _ in candidates]
    return Case(np.array(rows, dtype=np.float64), evidence)


def alike(groups: Mapping[str, Sequence[Case]]) -> list[Case]:
    """Return the cases of all groups such that each group counts alike, however many it has."""
    return [
        evolve(each, share=1.0 / len(cases)) for cases in groups.values() for each in cases if cases
    ]


def fitted(names: Sequence[str], cases: Sequence[Case]) -> Weights:
    """Return the weight of each part, none below 0, together 1 to the last digit.

    Raises:
        ValueError: There is nothing to learn from.
    """
    if not cases:
        raise ValueError("no case has both evidence and something else")
    flat = _Flat.of(cases)
    heat = np.full(len(names), START / len(names))
    moment, spread = np.zeros_like(heat), np.zeros_like(heat)
    for number in range(1, STEPS + 1):
        slope = flat.slope(heat) - PULL * heat
        moment += 0.1 * (slope - moment)
        spread += 0.01 * (slope * slope - spread)
        # Both averages begin at nothing; dividing by what they can have gathered makes up for it.
        direction = (moment / (1 - 0.9**number)) / (np.sqrt(spread / (1 - 0.99**number)) + 1e-9)
        heat = np.maximum(0.0, heat + STEP / number**0.5 * direction)
    return _rounded(names, heat)


def searched(names: Sequence[str], cases: Sequence[Case], start: Weights) -> Weights:
    """Return *start* with single weights moved while recall on *cases* grows by it."""
    table = _Padded.of(cases)
    given = dict(start)
    weights = np.array([given.get(name, 0.0) for name in names])
    best = table.recall(weights)
    for _ in range(ROUNDS):
        before = best
        for place in range(len(names)):
            tries = [weights[place] * factor for factor in FACTORS] if weights[place] else [SEED]
            for value in tries:
                moved = weights.copy()
                moved[place] = value
                reached = table.recall(moved)
                if reached > best + GAIN:
                    best, weights = reached, moved
        if best == before:
            break
    return _rounded(names, weights)


def likelihood(names: Sequence[str], cases: Sequence[Case], weights: Weights, heat: float) -> float:
    """Return the mean log likelihood of the evidence.

    Args:
        names: Of the parts.
        cases: What to judge by.
        weights: By name.
        heat: The temperature.
    """
    given = dict(weights)
    return _Flat.of(cases).likelihood(heat * np.array([given.get(name, 0.0) for name in names]))


@frozen
class _Flat:
    """All cases in one table, so that a step is a few operations on arrays.

    Each evidence of a question competes with what is no evidence, not with other evidence: a
    question that needs several pieces should find all of them.
    """

    parts: Floats
    evidence: NDArray[np.bool_]
    starts: NDArray[np.intp]
    sizes: NDArray[np.intp]
    share: Floats
    """Of each case; together 1."""

    @classmethod
    def of(cls, cases: Sequence[Case]) -> _Flat:
        sizes = np.array([len(each.evidence) for each in cases])
        return cls(
            np.concatenate([each.parts for each in cases]),
            np.concatenate([each.evidence for each in cases]),
            np.concatenate(([0], np.cumsum(sizes)[:-1])),
            sizes,
            _shares(cases),
        )

    def _odds(self, heat: Floats) -> tuple[Floats, Floats, Floats]:
        """Return e^score of all rows, and the sum over what is no evidence, per row."""
        scores = self.parts @ heat
        top = np.repeat(np.maximum.reduceat(scores, self.starts), self.sizes)
        odds = np.exp(scores - top)
        others = np.add.reduceat(np.where(self.evidence, 0.0, odds), self.starts)
        return scores - top, odds, np.repeat(others, self.sizes)

    def _weight(self) -> Floats:
        """Return what each row's evidence counts."""
        per_question = np.add.reduceat(self.evidence.astype(np.float64), self.starts)
        each = np.repeat(self.share / per_question, self.sizes)
        return np.where(self.evidence, each, 0.0)

    def likelihood(self, heat: Floats) -> float:
        scores, odds, others = self._odds(heat)
        logs = scores - np.log(odds + others)
        return float((self._weight() * logs).sum())

    def slope(self, heat: Floats) -> Floats:
        """Return the gradient of the likelihood."""
        _, odds, others = self._odds(heat)
        chance = odds / (odds + others)
        # The gradient raises evidence, and lowers each other candidate by its share of the softmax.
        lack = self._weight() * (1.0 - chance)
        peers = np.add.reduceat(self._weight() / (odds + others), self.starts)
        fall = np.where(self.evidence, 0.0, odds * np.repeat(peers, self.sizes))
        found: Floats = (lack - fall) @ self.parts
        return found


@frozen
class _Padded:
    """All cases as one block, short ones filled up with candidates that come last."""

    parts: Floats
    """Shape (cases, most candidates, parts)."""
    evidence: NDArray[np.bool_]
    share: Floats
    """Of each case; together 1."""
    handicap: Floats
    """Added to scores: parts equals in the order in which they came, and puts filling last."""

    @classmethod
    def of(cls, cases: Sequence[Case]) -> _Padded:
        most = max(len(each.evidence) for each in cases)
        parts = np.zeros((len(cases), most, cases[0].parts.shape[1]))
        evidence = np.zeros((len(cases), most), dtype=np.bool_)
        handicap = np.full((len(cases), most), -np.inf)
        for place, each in enumerate(cases):
            length = len(each.evidence)
            parts[place, :length] = each.parts
            evidence[place, :length] = each.evidence
            handicap[place, :length] = -1e-12 * np.arange(length)
        return cls(parts, evidence, _shares(cases), handicap)

    def recall(self, weights: Floats) -> float:
        """Return the mean share of evidence among the first, averaged over ``DEPTHS``."""
        scores = self.parts @ weights + self.handicap
        descending = -np.sort(-scores, axis=1)
        known = self.evidence.sum(axis=1)
        shares = []
        for depth in DEPTHS:
            least = descending[:, min(depth, scores.shape[1]) - 1 : depth][:, :1]
            held = (self.evidence & (scores >= least)).sum(axis=1) / known
            shares.append(float((held * self.share).sum()))
        return float(np.mean(shares))


def _shares(cases: Sequence[Case]) -> Floats:
    """Return the share of each case; together 1."""
    given = np.array([each.share for each in cases])
    found: Floats = given / given.sum()
    return found


def _rounded(names: Sequence[str], heat: Floats) -> Weights:
    """Return shares of 1 with few digits; the greatest takes what rounding left."""
    whole = 10**DIGITS
    units = np.rint(heat / heat.sum() * whole).astype(int)
    units[int(np.argmax(units))] += whole - int(units.sum())
    return tuple((name, int(unit) / whole) for name, unit in zip(names, units, strict=True))
