"""What retrieval is compared to: BM25, vectors and their fusion, as one finds them in textbooks.

Each ranks all texts of one conversation for one question, and knows no more than the texts.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from mnemic.kernel.ports import Embedder
from mnemic.projections import analysis

Floats = NDArray[np.float64]
RANK_CONSTANT = 60
"""Of reciprocal rank fusion. Source: Cormack, Clarke and Buettcher (2009)."""


class Ranker(Protocol):
    """Whatever ranks texts."""

    def ranked(self, question: str) -> list[int]:
        """Return the places of all texts that match at all, best first."""
        ...


class BM25:
    """Okapi BM25 over the words of each text, with our analyser.

    Args:
        texts: All that can be found.
        k1: How slowly repetitions saturate.
        b: How much length counts. Both defaults are those of our lexicon.
    """

    def __init__(self, texts: Sequence[str], *, k1: float = 0.9, b: float = 0.3) -> None:
        self._analyse = analysis.analyser(analysis.ANALYSER)
        terms = [self._analyse(text) for text in texts]
        lengths = np.array([len(each) for each in terms], dtype=np.float64)
        self._drag = k1 * ((1 - b) + b * lengths / lengths.mean())
        self._k1 = k1
        postings: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
        for place, each in enumerate(terms):
            for term, count in Counter(each).items():
                postings[term].append((place, count))
        self._postings = {term: np.array(pairs).T for term, pairs in postings.items()}

    def scores(self, question: str) -> Floats:
        """Return the score of each text."""
        found = np.zeros(len(self._drag))
        for term in set(self._analyse(question)) & self._postings.keys():
            places, counts = self._postings[term]
            frequency = np.log1p((len(found) - len(places) + 0.5) / (len(places) + 0.5))
            found[places] += frequency * (self._k1 + 1) * counts / (counts + self._drag[places])
        return found

    def ranked(self, question: str) -> list[int]:
        """Return the places of the texts that share a word with the question, best first."""
        return _descending(self.scores(question))


class Cosine:
    """Nearness of embeddings, unquantised."""

    def __init__(self, texts: Sequence[str], embedder: Embedder) -> None:
        self._embedder = embedder
        self._rows = _unit(embedder.embed(texts))

    def ranked(self, question: str) -> list[int]:
        """Return the places of the texts in the question's half of space, nearest first."""
        asked = _unit(self._embedder.embed([question]))[0]
        found: Floats = self._rows @ asked
        return _descending(found)


class Fused:
    """Reciprocal rank fusion, every ranker with the same weight."""

    def __init__(self, *rankers: Ranker) -> None:
        self._rankers = rankers

    def ranked(self, question: str) -> list[int]:
        """Return the places of the texts that any ranker found, best first."""
        total: defaultdict[int, float] = defaultdict(float)
        for ranker in self._rankers:
            for rank, place in enumerate(ranker.ranked(question), start=1):
                total[place] += 1 / (RANK_CONSTANT + rank)
        return sorted(total, key=lambda place: (-total[place], place))


def _unit(vectors: object) -> Floats:
    rows = np.asarray(vectors, dtype=np.float64)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    found: Floats = rows / np.where(lengths > 0, lengths, 1.0)
    return found


def _descending(scores: Floats) -> list[int]:
    """Return the places of positive scores, greatest first, ties in order of learning."""
    order = np.argsort(-scores, kind="stable")
    places: list[int] = order[scores[order] > 0].tolist()
    return places
