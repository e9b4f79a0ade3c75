"""Estimated difference in value of two answers to a decision, from what was shown and judged.

The value of an answer is the sum over its blocks of *gain - cost*: the cost is what a place has to
be worth. Rules of this module:

1. A block that was shown and judged counts by its gain, weighted by the inverse of the probability
   with which it was shown (inverse propensity). So a block of the pool of exploration counts for
   all the times that it was not drawn.
2. A block that might have been shown, or was not judged, counts nothing: rule 1 makes up for it.
3. A block that could not be shown counts as useless in the first answer, and as decisive in the
   other one. So nothing is claimed for blocks without evidence.
4. Blocks of both answers count nothing, since they make no difference.

Where outcomes do not depend on the blocks, and the answers are of equal length, the expected
difference is therefore never above 0. Integer nano-units, so that sums are exact.

Source: Horvitz and Thompson (1952); Swaminathan et al., Off-policy evaluation for slate
recommendation (2017); Swaminathan and Joachims, Counterfactual risk minimization (2015).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable, Mapping, Sequence
from math import sqrt

from attrs import frozen

from mnemic.kernel.numeric.arithmetic import NANO, share
from mnemic.kernel.values import Value


@frozen(kw_only=True)
class Shown(Value):
    """One decision: what it showed, and what it might have shown."""

    chances: Mapping[int, int]
    """By block that was shown: the probability with which it was. Nano-units, above 0."""
    possible: frozenset[int]
    """Blocks that had any chance to be shown."""
    gains: Mapping[int, int]
    """By block that was shown and judged: its gain. Nano-units, [0, 1]."""
    group: Hashable
    """Resampling group: its session, or the decision itself."""

    @property
    def is_explored(self) -> bool:
        """Whether another block might have been shown."""
        return len(self.possible) > len(self.chances)


@frozen
class Comparison(Value):
    """The difference between two answers to one decision."""

    value: int
    """By how much the first is better. Nano-units, unbounded."""
    weights: tuple[int, ...]
    """Inverse propensities of the judged blocks that make the difference. Nano-units."""


def compared(
    shown: Shown, answer: Collection[int], other: Collection[int], *, cost: int
) -> Comparison:
    """Return by how much *answer* is better than *other*.

    Args:
        shown: The decision that both answer.
        answer: Blocks.
        other: Blocks.
        cost: What a place has to be worth. Nano-units, [0, 1].
    """
    weights: list[int] = []
    value, mine, theirs = 0, set(answer), set(other)
    for block in answer:
        if block not in theirs:
            value += _worth(shown, block, weights, cost=cost, unseen=0)
    for block in other:
        if block not in mine:
            value -= _worth(shown, block, weights, cost=cost, unseen=NANO)
    return Comparison(value, tuple(weights))


def _worth(shown: Shown, block: int, weights: list[int], *, cost: int, unseen: int) -> int:
    """Return the estimated worth of a block, and add its weight to *weights* if it was judged."""
    if block not in shown.possible:
        return unseen - cost
    if block not in shown.gains:
        return 0
    weight = share(NANO, shown.chances[block])
    weights.append(weight)
    return (shown.gains[block] - cost) * weight // NANO


def effective(comparisons: Sequence[Comparison]) -> float:
    """Return how many equally probable judged blocks the differences rest on (Kish).

    Blocks of both answers, and those that were never shown, are not among them.
    """
    weights = [each / NANO for found in comparisons for each in found.weights]
    squares = sum(each * each for each in weights)
    return sum(weights) ** 2 / squares if squares else 0.0


def cautious(comparisons: Sequence[Comparison], groups: Sequence[Hashable]) -> float:
    """Return the mean difference less its standard error, by which a search compares candidates.

    A candidate whose mean rests on a few improbable blocks has a large error, and is passed over.

    Args:
        comparisons: Of each decision; at least one.
        groups: The resampling group of each.

    Source: Swaminathan and Joachims (2015), the principle of counterfactual risk minimization.
    """
    count = len(comparisons)
    mean = sum(each.value for each in comparisons) / count
    deviations: defaultdict[Hashable, float] = defaultdict(float)
    for each, group in zip(comparisons, groups, strict=True):
        deviations[group] += each.value - mean
    error = sqrt(sum(each * each for each in deviations.values())) / count
    return (mean - error) / NANO
