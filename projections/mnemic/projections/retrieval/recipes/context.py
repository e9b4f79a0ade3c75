"""Recipe ``recall-2``: a text is matched together with its conversational context. Frozen.

Every part is in [0, 1]; all but the last are absolute and do not depend on other candidates:

``lexical``  BM25 (english-1, k1 .9, b .3) as a share of the maximum reach of the question. A text
             counts the words of its neighbours in the same sitting as its own: .6 of
             those one step away, .36 two, .216 three, .13 four. An answer rarely repeats the words
             of the question before it. Names of authors ask who, not what, and are left out of the
             question unless nothing else is left.
``cosine``   Of the text's vector with the question's, at least 0.
``author``   1 if the question names the author.
``date``     Closeness of ``created_at`` to a date in the question.
``rarity``   How unusual the words were when they were learned: small talk repeats itself, facts
             do not.

``corrected``  What a text loses to a newer near-duplicate: of two noted as
             near-duplicates the older matches less than the newer. Its weight is -1.

Their weighted sum is the strength of the match, from which relevance follows (``exact_scoring``).

Source: measured on dialogues, see benchmarks/retrieval.py. Weights, floor, rank and width belong to
the policy; they were fitted by listwise softmax and rounded.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from mnemic.kernel.model.vectors import Vector
from mnemic.kernel.numeric.arithmetic import NANO
from mnemic.kernel.policy import Policy
from mnemic.projections.retrieval.approximate_search import Near
from mnemic.projections.retrieval.recipes import exact_scoring, question
from mnemic.projections.retrieval.recipes.exact_scoring import Adjustment
from mnemic.projections.retrieval.recipes.match import Ints, Match
from mnemic.projections.retrieval.recipes.question import Asked
from mnemic.projections.view import View
from mnemic.projections.view.active_columns import At

NAME: Final = "recall-2"
PARTS: Final = (*question.PARTS, "corrected")
SEARCHES: Final = ("lexical", "cosine", "strength")

CORRECTION: Final = 1_000_000
"""Minimum by which the older of two near-duplicates is weaker, nano-units."""


def weights(policy: Policy) -> tuple[int, ...]:
    """Return the weight of each part, nano-units."""
    return (*question.weights(policy), -NANO)


def match(
    view: View,
    query: str,
    vector: Vector | None,
    pool: Ints,
    *,
    near: Near | None = None,
    asked_by: str | None = None,
) -> Match:
    """Return the match of the blocks of *pool*, restricted to possible candidates."""
    del asked_by  # by this recipe
    return exact_scoring.match(Asked.of(view, query, vector, pool), CORRECTED, near=near)


def _corrected(asked: Asked, at: At, versions: Ints, strength: Ints) -> Ints:
    """Return the strengths, with the older of near-duplicates among some blocks below the newer."""
    if not len(versions):
        return strength
    learned = asked.columns.life("learned")[versions]
    older, newer, learned_older, learned_newer = exact_scoring.in_order(at, versions, learned)
    # The newest first, so that each of several versions ranks below the next.
    order = np.lexsort((-learned_older, -learned_newer))
    left = strength.copy()
    for old, new in zip(older[order].tolist(), newer[order].tolist(), strict=True):
        left[old] = min(left[old], max(0, left[new] - CORRECTION))
    return left


CORRECTED: Final = Adjustment(pairs=View.sighted, strengths=_corrected, raises=False)
