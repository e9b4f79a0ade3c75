"""Matching of a query with one block, with a calibrated confidence: recipe ``match-1``.

Recall ranks many blocks, and its scores have no meaning outside of the ranking. Here one
block is picked, an edge may be made of it, and so its confidence must be calibrated: of all
matches with a confidence of .8, about eight in ten are the block that was meant.

1. The match strength of a block is a weighted sum of words (BM25 as a share of the maximum, raised
   by a gain) and cosine. The strongest block is the match, ties by id.
2. Its confidence is a logistic function of four parts: words, cosine, the gap to the next strongest
   block (to zero, if there is no other), and sameness, the 16th power of the cosine, which
   matters only where query and block are nearly identical. It rises with each of them.
3. Confidence does not depend on recency, use or any other signal of a frame; a frame only
   determines which blocks are eligible.

The numbers were fitted offline (logistic regression) to 9,195 known-item searches in five long
two-person conversations with the bundled embedder: keywords of a turn, half of it, all of it, and
questions about it; among 5 to 680 turns, a tenth of them with a near-copy of the one meant; half
of all searches without a correct match. Leaving out one conversation at a time, the Brier score is
.070 (.242 for always predicting the mean) and confidence is off by .5 points on average over ten
bins. With MiniLM vectors, which the fit has not seen, the same numbers give .071.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from attrs import frozen

from mnemic.kernel.model.vectors import Vector
from mnemic.kernel.numeric.arithmetic import (
    NANO,
    exp,
    nano,
    product_each,
    weighted_each,
)
from mnemic.kernel.values import Value
from mnemic.projections.retrieval.filters import Eligibility, eligible
from mnemic.projections.retrieval.recipes import plain
from mnemic.projections.view import View

RECIPE: Final = "match-1"

WORDS_GAIN: Final = 1_900_000_000
"""Gain of a match in words: a text that holds every term once reaches about a half."""
WORDS_SHARE: Final = 600_000_000
"""Share of the strength that comes from words; the other part is cosine. Nano-units."""

BIAS: Final = -4.3
"""Log-odds of a match without any evidence: one in seventy."""
PER_WORDS: Final = 3.5
PER_COSINE: Final = 0.7
PER_GAP: Final = 9.5
PER_SAMENESS: Final = 6.0
DOUBLINGS_TO_SAMENESS: Final = 4
"""Number of times the cosine is squared."""


@frozen(kw_only=True)
class Match(Value):
    """The block that a query most likely means. Parts and confidence in nano-units, [0, 1]."""

    number: int
    confidence: int
    words: int
    cosine: int
    gap: int


def best_match(
    view: View, query: str, vector: Vector | None, eligibility: Eligibility
) -> Match | None:
    """Return the block that *query* means and how likely that is; None if none is eligible.

    Args:
        view: The view to search.
        query: Any words.
        vector: Vector of the query, by the view's embedder; None: words alone decide.
        eligibility: Which blocks may be meant.
    """
    pool = eligible(view, eligibility)
    if not len(pool):
        return None
    words = np.minimum(NANO, product_each(plain.lexical(view, query, pool), WORDS_GAIN))
    cosines = plain.cosine(view, vector, view.vectors_of(pool))
    strengths = weighted_each((WORDS_SHARE, NANO - WORDS_SHARE), (words, cosines))
    best = int(strengths.max())
    place = min(np.flatnonzero(strengths == best).tolist(), key=lambda at: view.id(int(pool[at])))
    gap = best - int(np.delete(strengths, place).max(initial=0))
    parts = int(words[place]), int(cosines[place]), gap
    return Match(
        number=int(pool[place]),
        confidence=confidence(*parts),
        words=parts[0],
        cosine=parts[1],
        gap=gap,
    )


def confidence(words: int, cosine: int, gap: int) -> int:
    """Return how likely a best match is the one that was meant.

    Args:
        words: How much of the query the block's words answer. Nano-units, [0, 1].
        cosine: Nano-units, [0, 1].
        gap: Strength ahead of the next block. Nano-units, [0, 1].
    Returns:
        Nano-units, in (0, 1).
    Source: fitted, as the module's docstring describes.
    """
    sameness = cosine / NANO
    for _ in range(DOUBLINGS_TO_SAMENESS):
        sameness *= sameness
    log_odds = (
        BIAS
        + PER_WORDS * (words / NANO)
        + PER_COSINE * (cosine / NANO)
        + PER_GAP * (gap / NANO)
        + PER_SAMENESS * sameness
    )
    return nano(1.0 / (1.0 + exp(-log_odds)))
