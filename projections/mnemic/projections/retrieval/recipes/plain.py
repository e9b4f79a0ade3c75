"""Recipe ``recall-1``: a weighted sum of words and vectors with fixed weights. Frozen.

Analyser english-1, BM25 k1 .9 b .3 as a share of the maximum reach of the question,
quantised cosine.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from mnemic.kernel.model.vectors import Vector
from mnemic.kernel.numeric.arithmetic import (
    NANO,
    nano,
    product_each,
    weighted_each,
)
from mnemic.kernel.policy import Policy
from mnemic.projections.retrieval.approximate_search import Near
from mnemic.projections.retrieval.recipes.match import Ints, Match
from mnemic.projections.view import View

NAME: Final = "recall-1"
PARTS: Final = ("lexical", "cosine")
SEARCHES: Final = ("lexical", "cosine")


def weights(policy: Policy) -> tuple[int, ...]:
    """Return the weight of each part, nano-units."""
    share = nano(policy.lexical_share)
    return share, NANO - share


def match(
    view: View,
    query: str,
    vector: Vector | None,
    pool: Ints,
    *,
    near: Near | None = None,
    asked_by: str | None = None,
) -> Match:
    """Return how well each block of *pool* matches."""
    del near, asked_by  # this recipe always searches exactly, and ignores the asker
    strengths = lexical(view, query, pool)
    cosines = cosine(view, vector, view.vectors_of(pool))
    words = np.minimum(NANO, product_each(strengths, nano(view.policy.lexical_gain)))
    return Match(
        columns=view.columns,
        pool=pool,
        at=view.columns.places(pool),
        parts=(strengths, cosines),
        strength=weighted_each(weights(view.policy), (words, cosines)),
        searches=(strengths, cosines),
    )


def lexical(view: View, query: str, pool: Ints) -> Ints:
    """Return the strength of each block of the pool, by word statistics of all active blocks."""
    columns = view.columns
    documents = columns.documents[columns.places(pool)]
    return view.state.lexicon.strengths(query, view.present.alive, documents)


def cosine(view: View, vector: Vector | None, rows: Ints) -> Ints:
    """Return the cosine of the question's vector with those in some rows, at least 0."""
    if vector is None or not len(rows):
        return np.zeros(len(rows), dtype=np.int64)
    cosines: Ints = np.maximum(0, view.cosines(vector, rows))
    return cosines
