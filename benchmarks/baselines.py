"""Baselines of retrieval: textbook BM25, SQLite's full-text search, vectors, and rank fusion.

Each ranks all texts of one conversation for one question, and uses the texts alone. What was known
of it at an earlier time is a ranker of its own, with its own statistics: ``first``.
"""

from __future__ import annotations

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Sequence
from copy import copy
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray
from peers.fts5 import CREATE, INSERT, SEARCH, WORD, any_of

from mnemic.kernel.ports import Embedder
from mnemic.projections.lexical import analysis

Floats = NDArray[np.float64]
RANK_CONSTANT = 60
"""Of reciprocal rank fusion. Source: Cormack, Clarke and Buettcher (2009)."""


class Ranker(Protocol):
    """Ranks texts for a question."""

    def ranked(self, question: str) -> list[int]:
        """Return the places of all texts that match at all, best first."""
        ...

    def first(self, count: int) -> Self:
        """Return the same ranker over the first *count* texts only; at least one."""
        ...


class BM25:
    """Okapi BM25 over the words of each text, with our analyser.

    Args:
        texts: The texts to search.
        k1: Saturation of repeated words; greater is slower.
        b: Weight of the length of a text. Both defaults are those of our lexicon.
    """

    def __init__(self, texts: Sequence[str], *, k1: float = 0.9, b: float = 0.3) -> None:
        self._analyse = analysis.analyser(analysis.ANALYSER)
        self._k1, self._b = k1, b
        self._index([self._analyse(text) for text in texts])

    def _index(self, terms: Sequence[Sequence[str]]) -> None:
        self._terms, b = terms, self._b
        lengths = np.array([len(each) for each in terms], dtype=np.float64)
        self._drag = self._k1 * ((1 - b) + b * lengths / lengths.mean())
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

    def first(self, count: int) -> Self:
        """Return BM25 over the first *count* texts only."""
        found = copy(self)
        found._index(self._terms[:count])  # noqa: SLF001 - its own
        return found


class FTS5:
    """SQLite's full-text search with the Porter stemmer, over any word of the question; ten texts.

    The table is that of ``peers.fts5``, in memory. Each word is searched for once, however often
    the question repeats it, which finds a little more.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = texts
        self._connection = sqlite3.connect(":memory:")
        self._connection.execute(CREATE)
        self._connection.executemany(INSERT, enumerate(texts))
        self._parts: list[Self] = []

    def ranked(self, question: str) -> list[int]:
        """Return the places of the ten best texts that share a word with the question."""
        words = sorted({word.lower() for word in WORD.findall(question)})
        rows = self._connection.execute(SEARCH, (any_of(words),)).fetchall()
        return [place for place, _ in rows]

    def first(self, count: int) -> Self:
        """Return a search of the first *count* texts only, which is closed with this one."""
        part = type(self)(self._texts[:count])
        self._parts.append(part)
        return part

    def close(self) -> None:
        """Discard the table."""
        for part in self._parts:
            part.close()
        self._connection.close()


class Cosine:
    """Cosine similarity of embeddings, unquantised."""

    def __init__(self, texts: Sequence[str], embedder: Embedder) -> None:
        self._embedder = embedder
        self._rows = _unit(embedder.embed(texts))

    def ranked(self, question: str) -> list[int]:
        """Return the places of the texts in the question's half of space, nearest first."""
        asked = _unit(self._embedder.embed([question]))[0]
        found: Floats = self._rows @ asked
        return _descending(found)

    def first(self, count: int) -> Self:
        """Return the first *count* texts only, without embedding them again."""
        found = copy(self)
        found._rows = self._rows[:count]  # noqa: SLF001 - its own
        return found


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

    def first(self, count: int) -> Self:
        """Return the fusion of the rankers of the first *count* texts."""
        return type(self)(*(ranker.first(count) for ranker in self._rankers))


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
