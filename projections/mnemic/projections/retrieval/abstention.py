"""Abstention: the verdict whether memory answers a question, and the blocks that are too doubtful.

Source: DOMAIN section 6; specs/reference/probability.py; docs/adr/0042.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from mnemic.kernel.policy import Policy
from mnemic.kernel.scoring.probability import answerable, log_odds, verdict
from mnemic.kernel.values import Value
from mnemic.projections.retrieval.ranking import Ranking
from mnemic.projections.retrieval.recipes import Recipe

Bools = NDArray[np.bool_]

BEST: Final = 10
"""Number of blocks, the best by score, that decide whether a question can be answered: as many as
the numbers were fitted to. It does not depend on how many a caller requests."""

HEADINGS: Final = {
    "yes": "What I remember that bears on this:",
    "weak": "What I remember that may bear on this:",
    "no": "Nothing in memory bears on this. What comes closest:",
    "": "What I remember that bears on this:",
}
"""First line of the text of an answer, by verdict."""
NOTHING: Final = "Nothing in memory bears on this."
"""The text of an answer without blocks."""


@frozen
class Judgment(Value):
    """Whether memory answers a question."""

    answerable: int = -1
    """Probability in nano-units; -1 without a question, and by recipes without probabilities."""
    verdict: str = ""

    @property
    def heading(self) -> str:
        """The first line of an answer with blocks."""
        return HEADINGS[self.verdict]


def judged(policy: Policy, recipe: Recipe, ranking: Ranking) -> Judgment:
    """Return whether the best blocks of *ranking* answer the question.

    Blocks of zones that are kept out of answers do not count.
    """
    if not recipe.graded or ranking.match is None:
        return Judgment()
    best = (ranking.shares > 0).nonzero()[0][:BEST]
    value = 0
    if len(best):
        value = answerable(policy, int(log_odds(policy, ranking.evidence(recipe, best)).max()))
    return Judgment(value, verdict(policy, value))


def doubtful(ranking: Ranking, *, floor: int, min_probability: int | None) -> Bools | None:
    """Return which places of *ranking* hold blocks that are too doubtful; None: no floor applies.

    Args:
        ranking: The ranking.
        floor: The frame's, nano-units. It never excludes the most probable block that an answer may
            hold, nor a guaranteed one, and a block that an edge led to only with its seed: the edge
            says that it belongs there, not its words.
        min_probability: The caller's, nano-units, which binds in every case; None: the frame's.
    """
    probabilities = ranking.probabilities
    if probabilities is None or not (floor if min_probability is None else min_probability):
        return None
    if min_probability is not None:
        return probabilities < min_probability
    open_to = ranking.shares > 0
    if ranking.guaranteed:
        sure = np.isin(ranking.numbers, list(ranking.guaranteed))
        most = int(probabilities[open_to & ~sure].max(initial=0))
        left_out = (probabilities < min(floor, most)) & ~sure
    else:
        most = int(probabilities[open_to].max(initial=0))
        left_out = probabilities < min(floor, most)
    if not left_out.any():
        return None
    if ranking.via:
        places = dict(zip(ranking.numbers.tolist(), range(len(ranking)), strict=True))
        for number, seed in ranking.via.items():
            if number in places and seed in places:
                left_out[places[number]] &= left_out[places[seed]]
    return left_out
