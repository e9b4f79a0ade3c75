"""Exact scoring of the few blocks that can be candidates or determine the reference strength.

Shared by the recipes that match a text in its context. The strength of a block is the weighted sum
of its parts, adjusted by pairs of blocks that a recipe relates (``Adjustment``). Relevance is
relative to the strengths of others:

    relevance = 1 / (1 + exp(-(strength - reference) / width))

The reference is the strength of the block at a tenth of those eligible, at the third to the twelfth
of them, or a floor if that is higher: if nothing matches, a weak match stays weak. Strengths are
close together; without the curve, other signals would decide between the blocks that answer and all
others.

Only few blocks are scored exactly: enough that no other can be a candidate or decide the reference
(``pruning.exactly``), or, with an approximate search, those it selects (``pruning.pruned``). Of
these the reference is the strength at its rank.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
from attrs import evolve, frozen

from mnemic.kernel.numeric.arithmetic import nano
from mnemic.kernel.policy import Policy
from mnemic.kernel.values import Value
from mnemic.projections.retrieval.approximate_search import Near
from mnemic.projections.retrieval.recipes import pruning
from mnemic.projections.retrieval.recipes.match import Curve, Ints, Match, nth_best
from mnemic.projections.retrieval.recipes.question import UNKNOWN_REFERENCE, Asked
from mnemic.projections.retrieval.recipes.related_blocks import RelatedBlocks
from mnemic.projections.storage.sorted_arrays import among
from mnemic.projections.view import View
from mnemic.projections.view.active_columns import At

RANK_LEAST: Final = 3
CROWD: Final = 10
"""In a small memory, one in this many eligible blocks has a relevance of a half or more, at least
three and at most the policy's rank: twelve would be nearly all."""

WHOLE: Final = 4096
"""Up to this many eligible blocks all are scored exactly: selecting among them takes longer."""

Adjust = Callable[[Asked, At, Ints, Ints], Ints]
"""From a question, the places of blocks, related pairs of places and the weighted sum of each
block's parts to the strength of each block."""


@frozen(kw_only=True)
class Adjustment(Value):
    """How a recipe relates the strengths of two blocks."""

    pairs: Callable[[View], Ints]
    """The related pairs of blocks, shape (pairs, 2); of other blocks the sum is the strength."""
    strengths: Adjust
    raises: bool
    """Whether it makes a block stronger than another one by a nano-unit; else it makes it weaker.
    The part that a decision stores is the difference, without its sign."""


def match(asked: Asked, adjustment: Adjustment, *, near: Near | None = None) -> Match:
    """Return the match of the eligible blocks, restricted to possible candidates.

    Args:
        asked: The question.
        adjustment: How the strengths of related blocks depend on each other.
        near: The approximate search; None: the search is exact.
    """
    vector = asked.vector
    found = None if near is None or vector is None else near(asked.view, vector, asked.pool)
    if found is not None:
        return seen(asked, adjustment, pruning.pruned(asked, found), near=found)
    if len(asked.pool) <= WHOLE:
        return seen(asked, adjustment, asked.places)
    return scanned(asked, adjustment)


def scanned(asked: Asked, adjustment: Adjustment) -> Match:
    """Return the match of every possible candidate and of what decides the reference.

    A rough scan determines these and the maximum strength of the others. An adjustment may turn
    one of the others into a candidate after all; then more are scored.
    """
    policy, count = asked.view.policy, len(asked.pool)
    rank = reference_rank(policy, count)
    for scan in pruning.exactly(asked, max(policy.candidates, rank)):
        found = seen(asked, adjustment, scan.at)
        *_, strongest = found.searches
        # Among the others each of a chain of pairs may be a nano-unit above the one before.
        raised = len(adjustment.pairs(asked.view)) if adjustment.raises else 0
        if _certain(found.strength, rank, scan.others, raised) and _certain(
            strongest, policy.candidates, scan.others_evident, raised
        ):
            return found
    return seen(asked, adjustment, asked.places)


def _certain(values: Ints, rank: int, others: int, raised: int) -> bool:
    """Whether the first *rank* values are above all *others*."""
    return not rank or others < 0 or nth_best(values, rank, -1) > others + raised


def seen(asked: Asked, adjustment: Adjustment, at: At, *, near: Ints | None = None) -> Match:
    """Return the match of some eligible blocks and of those that they are related to."""
    at, pairs = _with_related(asked, adjustment, at)
    scored = _Scored(asked=asked, adjustment=adjustment, at=at, parts=asked.parts(at), near=near)
    return scored.match(pairs)


@frozen(kw_only=True, eq=False)
class _Scored:
    """Blocks that are scored exactly."""

    asked: Asked
    adjustment: Adjustment
    at: At
    parts: tuple[Ints, ...]
    """Parts of the match of each block."""
    curve: Curve | None = None
    """The curve before more blocks were added; None: it follows from these blocks."""
    near: Ints | None = None

    def match(self, pairs: Ints) -> Match:
        """Return their match; *pairs* are the related ones among them."""
        summed = self.asked.strengths(self.parts)
        strength = self.adjustment.strengths(self.asked, self.at, pairs, summed)
        evidence = self.asked.evidence(self.parts)
        curve = self._curve(strength) if self.curve is None else self.curve
        whole = len(strength) == len(self.asked.pool)
        return Match(
            columns=self.asked.columns,
            pool=self.asked.pool,
            at=self.at,
            parts=(*self.parts, np.abs(strength - summed)),
            strength=strength,
            searches=(*self.parts[:2], np.where(evidence > 0, strength, 0)),
            curve=curve,
            near=self.near,
            statistics=(curve.reference, *self.asked.statistics),
            widened=None if whole else evolve(self, curve=curve).widened,
            grade=self.asked.grade,
            passage=self.asked.passage,
        )

    def _curve(self, strength: Ints) -> Curve:
        policy, reference = self.asked.view.policy, self.asked.reference
        if reference == UNKNOWN_REFERENCE:
            rank = reference_rank(policy, len(self.asked.pool))
            reference = nth_best(strength, rank, nano(policy.relevance_floor))
        return Curve(reference=reference, width=nano(policy.relevance_width))

    def widened(self, more: At) -> Match:
        """Return the match extended by *more* blocks of the pool."""
        marked = self.asked.columns.mask(self.at)
        marked[:-1][more] = True
        at, pairs = _with_related(self.asked, self.adjustment, marked[:-1].nonzero()[0])
        wider, known = self.asked.columns.listed(at), self.asked.columns.listed(self.at)
        fresh = wider[~among(known, wider)]
        order = np.argsort(np.concatenate((known, fresh)))
        joined = zip(self.parts, self.asked.parts(fresh), strict=True)
        parts = tuple(np.concatenate(both)[order] for both in joined)
        return evolve(self, at=wider, parts=parts).match(pairs)


def reference_rank(policy: Policy, eligible: int) -> int:
    """Return the rank with a relevance of a half: a tenth of the blocks, within its limits."""
    return min(policy.relevance_rank, max(RANK_LEAST, eligible // CROWD))


def _with_related(asked: Asked, adjustment: Adjustment, at: At) -> tuple[At, Ints]:
    """Return *at* with the places of the eligible blocks they are related to, and the pairs.

    Returns:
        Places, and pairs of them, shape (pairs, 2).
    """
    blocks, columns = adjustment.pairs(asked.view), asked.columns
    if not len(blocks):
        return at, blocks.reshape(-1, 2)
    related: RelatedBlocks = columns.following(
        ("related", adjustment.pairs), lambda: RelatedBlocks.of(columns, blocks), blocks
    )
    eligible = None if isinstance(asked.places, slice) else columns.mask(asked.places)
    return related.closure(at, columns.mask(at), eligible)


def in_order(at: At, pairs: Ints, said: Ints) -> tuple[Ints, Ints, Ints, Ints]:
    """Return the older and the newer block of each pair, as positions in *at*, and when.

    Args:
        at: Places of blocks.
        pairs: Pairs of these places, shape (pairs, 2).
        said: When each block of a pair was said, same shape.
    Returns:
        Positions of the older ones, of the newer ones, and when each of them was said.
    """
    positions = pairs if isinstance(at, slice) else np.searchsorted(at, pairs)
    turn = said.argsort(axis=1)
    older, newer = np.take_along_axis(positions, turn, axis=1).T
    said_older, said_newer = np.take_along_axis(said, turn, axis=1).T
    return older, newer, said_older, said_newer
