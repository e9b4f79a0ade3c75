"""How often each term of a question stands in each document, and what that is worth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from mnemic.kernel.arithmetic import Integers, nano_each

K1: Final = 0.9
"""How slowly repetitions of a term saturate; > 0. Changing it makes another recipe."""

B: Final = 0.3
"""How much length counts against a document, in [0, 1]. Changing it makes another recipe.

With K1, measured on dialogue turns: recall@10 .64, against .62 at the customary 1.2 and 0.75. Short
texts are mostly about one thing, so their length says little.
"""

GRID: Final = 2.0**30
"""Units of match to one. A sum of ten thousand terms stays far below 2**53, exact as a float."""

WHOLE: Final = 1000
"""Thousandths: how often a term stands in a document itself, times this."""


def on_grid(match: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return matches as whole numbers of grid units, whose sums are exact in any order."""
    return np.rint(match * GRID)


@frozen(kw_only=True, eq=False)
class TermCounts:
    """A small table: terms of a question by the documents they count in."""

    documents: tuple[Integers, ...]
    """By term: numbers of the documents in which it counts, rising."""
    counts: tuple[Integers, ...]
    """By term: how much in each of them, thousandths."""
    bounds: tuple[float, ...]
    """What a term is worth at most: its inverse document frequency times K1 + 1."""
    lengths: Integers
    """Terms in each document that was added."""
    mean_length: float
    """Of the documents that are alive, > 0."""

    def spread(self, links: NDArray[np.int32], shares: Sequence[int]) -> TermCounts:
        """Return the counts with those of neighbours added.

        Args:
            links: As ``Sequence.links``.
            shares: What a word counts one step away, two steps and so on, in thousandths.
        """
        steps = links.shape[1] // 2
        if len(shares) < steps:
            reach = range(len(shares))
            links = links[:, [*reach, *(steps + step for step in reach)]]
        parts = np.array((*shares, *shares), dtype=np.int64)
        documents, counts = [], []
        for holding, own in zip(self.documents, self.counts, strict=True):
            # A neighbour's neighbour is the text itself, so giving is the same as receiving. NONE
            # is -1 and gives to the place before the first document.
            given = np.concatenate((holding, links.take(holding, axis=0).ravel()))
            amount = np.concatenate((own * WHOLE, (own[:, None] * parts).ravel()))
            # Sums of whole numbers far below 2**53, exact as floats.
            total = np.bincount(given + 1, amount)[1:]
            reached = np.flatnonzero(total > 0)
            documents.append(reached)
            counts.append(total[reached].astype(np.int64) // WHOLE)
        return evolve(self, documents=tuple(documents), counts=tuple(counts))

    def strengths(self, documents: Integers) -> Integers:
        """Return the match of each of *documents* as a share of the reach of the question.

        Returns:
            Nano-units in [0, NANO].
        """
        matches: list[NDArray[np.float64]] = []
        reach = 0
        for held_by, thousandths, bound in zip(
            self.documents, self.counts, self.bounds, strict=True
        ):
            counts = thousandths / float(WHOLE)
            drag = K1 * ((1.0 - B) + B * (self.lengths[held_by] / self.mean_length))
            matches.append(on_grid((bound * counts) / (counts + drag)))
            reach += round(bound * GRID)
        if not matches:
            return np.zeros(documents.shape, dtype=np.int64)
        holding, match = np.concatenate(self.documents), np.concatenate(matches)
        total = np.bincount(holding, match, len(self.lengths))
        return nano_each(total[documents] / max(reach, 1))
