"""Recipe ``recall-2``: what was said around a text counts with it. Frozen.

Every part is in [0, 1]; all but the last are absolute and owe nothing to other candidates:

``lexical``  BM25 (english-1, k1 .9, b .3) as a share of what a text that answers everything would
             reach. A text counts the words of its neighbours in the same sitting as its own: .6 of
             those one step away, .36 two, .216 three, .13 four. An answer rarely repeats the words
             of the question before it. Names of authors ask who, not what, and are left out of the
             question unless nothing else is left.
``cosine``   Of the text's vector with the question's, at least 0.
``author``   1 where the question names who said it.
``date``     Closeness of ``created_at`` to a date in the question.
``rarity``   How unusual the words were when they were learned: small talk repeats itself, facts
             do not.

``corrected``  What a text loses to a newer one that says almost the same: of two noted as
             near-duplicates the older matches less than the newer. It counts -1.

Their weighted sum is the strength of the match. Relevance puts it beside the others:

    relevance = 1 / (1 + exp(-(strength - reference) / width))

The reference is the strength of the block at a tenth of those eligible, at the third to the twelfth
of them, or a floor if that is higher: where nothing matches a weak match stays weak. Strengths lie
close together; without the curve, recency would decide between the blocks that answer and all
others.

Few blocks are looked at to the last bit: those of which it is certain that no other is a candidate
or decides the reference (``looking.exactly``), or, where vectors are searched approximately, those
of a glimpse (``looking.glimpsed``). Of these the reference is the strength at its rank.

Source: measured on dialogues, see benchmarks/retrieval.py. Weights, floor, rank and width are of
the policy; they were fitted by listwise softmax and rounded.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from attrs import evolve, frozen

from mnemic.kernel.arithmetic import NANO, nano
from mnemic.kernel.policy import Policy
from mnemic.kernel.vectors import Vector
from mnemic.projections.present import places
from mnemic.projections.proximity import Near
from mnemic.projections.recipes import looking, question
from mnemic.projections.recipes.match import Curve, Ints, Match, nth_best
from mnemic.projections.recipes.question import EVIDENCE, Asked
from mnemic.projections.views import View

NAME: Final = "recall-2"
PARTS: Final = (*question.PARTS, "corrected")
SEARCHES: Final = ("lexical", "cosine", "strength")

RANK_LEAST: Final = 3
CROWD: Final = 10
"""Of so many eligible blocks one is half relevant or more, from three of them to the policy's rank:
in a small memory twelve would be nearly all."""

WHOLE: Final = 512
"""Up to so many eligible blocks all are looked at: to tell which need not be takes longer."""

CORRECTION: Final = 1_000_000
"""How much weaker at least the older of two near-duplicates matches, nano-units."""


def weights(policy: Policy) -> tuple[int, ...]:
    """Return what each part counts, nano-units."""
    return (*question.weights(policy), -NANO)


def match(
    view: View, query: str, vector: Vector | None, pool: Ints, *, near: Near | None = None
) -> Match:
    """Return how well each block of *pool* matches that can be a candidate."""
    asked = Asked.of(view, query, vector, pool)
    found = None if near is None or vector is None else near(view, vector, pool)
    if found is not None:
        return seen(asked, looking.glimpsed(asked, found), near=found)
    if len(pool) <= WHOLE:
        return seen(asked, pool)
    return scanned(asked)


def scanned(asked: Asked) -> Match:
    """Return the match of whatever can be a candidate or decide the reference, of all eligible.

    A rough scan says what that is, and how strong the others can be at most. A correction may let
    one of these pass after all; then more are looked at.
    """
    policy, count = asked.view.policy, len(asked.pool)
    rank = reference_rank(policy, count)
    for scan in looking.exactly(asked, max(policy.candidates, rank)):
        found = seen(asked, scan.numbers)
        *_, strongest = found.searches
        if _certain(found.strength, rank, scan.others) and _certain(
            strongest, policy.candidates, scan.others_evident
        ):
            return found
    return seen(asked, asked.pool)


def _certain(values: Ints, rank: int, others: int) -> bool:
    """Say whether the first *rank* values are above all *others*."""
    return not rank or others < 0 or nth_best(values, rank, -1) > others


def seen(asked: Asked, numbers: Ints, *, near: Ints | None = None) -> Match:
    """Return the match of some eligible blocks, and of whatever their corrections hang on."""
    numbers, versions = _with_versions(asked, numbers)
    look = _Look(asked=asked, numbers=numbers, parts=asked.parts(numbers), near=near)
    return look.match(versions)


@frozen(kw_only=True, eq=False)
class _Look:
    """Blocks that are looked at."""

    asked: Asked
    numbers: Ints
    """Rising."""
    parts: tuple[Ints, ...]
    """What speaks for each."""
    curve: Curve | None = None
    """As it was before more were looked at; None: these say how it runs."""
    near: Ints | None = None

    def match(self, versions: Ints) -> Match:
        """Return how well they match; *versions* are the near-duplicate pairs among them."""
        strength = self.asked.strengths(self.parts)
        corrected = _corrected(self.asked.view, self.numbers, versions, strength)
        strength = strength - corrected
        evidence = np.maximum.reduce(self.parts[: len(EVIDENCE)])
        curve = self._curve(strength) if self.curve is None else self.curve
        whole = len(self.numbers) == len(self.asked.pool)
        return Match(
            pool=self.asked.pool,
            numbers=self.numbers,
            parts=(*self.parts, corrected),
            strength=strength,
            # Rare words alone answer nothing.
            searches=(*self.parts[:2], np.where(evidence > 0, strength, 0)),
            curve=curve,
            near=self.near,
            widened=None if whole else evolve(self, curve=curve).widened,
        )

    def _curve(self, strength: Ints) -> Curve:
        policy = self.asked.view.policy
        rank = reference_rank(policy, len(self.asked.pool))
        reference = nth_best(strength, rank, nano(policy.relevance_floor))
        return Curve(reference=reference, width=nano(policy.relevance_width))

    def widened(self, more: Ints) -> Match:
        """Return the match that looks at *more* blocks of the pool, too."""
        wanted = self.asked.view.union(self.numbers, more)
        wider, versions = _with_versions(self.asked, wanted)
        fresh = np.setdiff1d(wider, self.numbers, assume_unique=True)
        order = np.argsort(np.concatenate((self.numbers, fresh)))
        joined = zip(self.parts, self.asked.parts(fresh), strict=True)
        parts = tuple(np.concatenate(both)[order] for both in joined)
        return evolve(self, numbers=wider, parts=parts).match(versions)


def reference_rank(policy: Policy, eligible: int) -> int:
    """Return the rank that is half relevant: a tenth of the blocks, within its limits."""
    return min(policy.relevance_rank, max(RANK_LEAST, eligible // CROWD))


def _with_versions(asked: Asked, numbers: Ints) -> tuple[Ints, Ints]:
    """Return *numbers* with all that their corrections hang on, and the near-duplicates in it.

    Returns:
        Numbers, rising, and pairs of them, shape (pairs, 2).
    """
    view, ends = asked.view, asked.view.sighted()
    while len(ends):
        among = view.mask(numbers)[ends]
        half = ends[among.any(axis=1) & ~among.all(axis=1)]
        half = half[(places(asked.pool, half.ravel()) >= 0).reshape(-1, 2).all(axis=1)]
        if not len(half):
            return numbers, ends[among.all(axis=1)]
        numbers = view.union(numbers, half.ravel())
    return numbers, ends.reshape(-1, 2)


def _corrected(view: View, numbers: Ints, versions: Ints, strength: Ints) -> Ints:
    """Return what each block loses to a newer near-duplicate among *numbers*."""
    lost = np.zeros_like(strength)
    if not len(versions):
        return lost
    pairs = np.searchsorted(numbers, versions)
    learned = view.life.column("learned", versions.ravel()).reshape(-1, 2)
    turn = learned.argsort(axis=1)
    older, newer = np.take_along_axis(pairs, turn, axis=1).T
    learned_older, learned_newer = np.take_along_axis(learned, turn, axis=1).T
    # The newest first, so that of several versions each stands below the next.
    order = np.lexsort((-learned_older, -learned_newer))
    concerned = np.unique(pairs)
    left = dict(zip(concerned.tolist(), strength[concerned].tolist(), strict=True))
    for old, new in zip(older[order].tolist(), newer[order].tolist(), strict=True):
        left[old] = min(left[old], max(0, left[new] - CORRECTION))
    lost[concerned] = strength[concerned] - np.fromiter(left.values(), dtype=np.int64)
    return lost
