"""Postings: which documents hold a term, and how often. Growing ones, and a frozen stock of them.

A term is looked up in the growing ones first. What the stock holds of it is copied there when
somebody asks, so that nothing is ever written into the stock: it may be read-only, and it may be
a file's bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from mnemic.kernel.arithmetic import Integers
from mnemic.projections.parts import Parts, numbered

Mask = NDArray[np.bool_]

BETWEEN: Final = "\n"
"""Stands between two terms of a stock; no word has it within."""

_EMPTY: Final = np.empty(0, dtype=np.int32)


class Postings:
    """The documents that hold one term, ascending, each with its count; grows at the end.

    What was handed out stays as it was: growth writes beyond it.
    """

    __slots__ = ("_rows", "size")

    def __init__(self, documents: NDArray[Any] = _EMPTY, counts: NDArray[Any] = _EMPTY) -> None:
        """Start with a copy of what is given."""
        self.size = len(documents)
        self._rows: Integers = np.empty((2, self.size), dtype=np.int64)
        self._rows[0], self._rows[1] = documents, counts

    def extend(self, pairs: list[int]) -> None:
        """Append *pairs*: a document and its count in turn, later than all before."""
        added = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
        size = self.size + added.shape[1]
        if size > self._rows.shape[1]:
            room = np.empty((2, max(size, 2 * self.size)), dtype=np.int64)
            room[:, : self.size] = self._rows[:, : self.size]
            self._rows = room
        self._rows[:, self.size : size] = added
        self.size = size

    @property
    def rows(self) -> Integers:
        """Documents that hold the term, ascending, and below them how often each does."""
        return self._rows[:, : self.size]

    def under(self, alive: Mask) -> tuple[Integers, Integers]:
        """Return the live documents and their counts."""
        documents, counts = self.rows
        within = int(documents.searchsorted(alive.size))
        documents, counts = documents[:within], counts[:within]
        kept = alive[documents]
        return documents[kept], counts[kept]


NONE: Final = Postings()
"""The postings of a term that no document holds."""


class Stock:
    """Postings of many terms, one behind the other: made at once and never changed."""

    def __init__(self) -> None:
        """Hold nothing."""
        self._place: dict[str, int] = {}
        self._starts: NDArray[np.int32] = np.zeros(1, dtype=np.int32)
        self.documents: NDArray[np.int32] = np.empty(0, dtype=np.int32)
        """Documents that hold the first term, then those that hold the second, and so on."""
        self.counts: NDArray[Any] = np.empty(0, dtype=np.int32)
        """How often each of them does."""

    def frozen(self) -> Parts:
        """Return it as arrays."""
        # Few texts say a word more than 255 times: the smallest type that holds all counts takes
        # a quarter of the room.
        least = np.min_scalar_type(int(self.counts.max(initial=0)))
        return {
            "terms": np.frombuffer(BETWEEN.join(self._place).encode(), dtype=np.uint8),
            "starts": self._starts,
            "documents": self.documents,
            "counts": self.counts.astype(least, copy=False),
        }

    @classmethod
    def thawed(cls, parts: Mapping[str, NDArray[Any]]) -> Stock:
        """Return the stock that these arrays were made of."""
        stock = cls()
        stock._starts = parts["starts"]
        count = len(stock._starts) - 1
        terms = parts["terms"].tobytes().decode().split(BETWEEN)
        stock._place = numbered(terms[:count])
        stock.documents, stock.counts = parts["documents"], parts["counts"]
        return stock

    @property
    def holders(self) -> NDArray[np.int32]:
        """How many documents hold each term, in the order of first use."""
        return np.diff(self._starts)

    def __contains__(self, term: str) -> bool:
        return term in self._place

    def of(self, term: str) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the documents that hold *term*, which is of the stock, and their counts."""
        place = self._place[term]
        among = slice(int(self._starts[place]), int(self._starts[place + 1]))
        return self.documents[among], self.counts[among]

    def grown(self, postings: Mapping[str, Postings]) -> Stock:
        """Return a stock that holds *postings* too, in place of its own of the same terms.

        Args:
            postings: None holds less than this stock does; new terms in the order of first use.
        """
        stock = Stock()
        stock._place = dict(self._place)
        places = [stock._place.setdefault(term, len(stock._place)) for term in postings]
        sizes = np.array([each.size for each in postings.values()], dtype=np.int32)
        holders = np.zeros(len(stock._place), dtype=np.int32)
        holders[: len(self._place)] = self.holders
        holders[places] = sizes
        starts = stock._starts = _starts(holders)
        stock.documents = np.empty(starts[-1], dtype=np.int32)
        stock.counts = np.empty(starts[-1], dtype=np.int32)
        at = _places(starts[: len(self._place)], self.holders)
        stock.documents[at], stock.counts[at] = self.documents, self.counts
        rows = [NONE.rows, *(each.rows for each in postings.values())]
        at = _places(starts[places], sizes)
        stock.documents[at], stock.counts[at] = np.concatenate(rows, axis=1)
        return stock


def _starts(sizes: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return where stretches of these *sizes* start, one behind the other, and where all end."""
    starts = np.zeros(len(sizes) + 1, dtype=np.int32)
    np.cumsum(sizes, out=starts[1:])
    return starts


def _places(starts: NDArray[np.int32], sizes: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the places of stretches that start at *starts*, stretch by stretch."""
    within = np.arange(sizes.sum(), dtype=np.int32) - np.repeat(_starts(sizes)[:-1], sizes)
    return within + np.repeat(starts, sizes)
