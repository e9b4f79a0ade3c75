"""Postings: which documents hold a term, and how often. Growing ones, and a frozen stock of them.

A term is looked up in the growing ones first. What the stock holds of it is copied there when
somebody asks, so that nothing is ever written into the stock: it may be read-only, and it may be
a file's bytes. Where many documents come at once they become a new stock: an object for each term
and room to grow would take several times as much.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mnemic.kernel.arithmetic import Integers
from mnemic.projections.pages import zeros
from mnemic.projections.parts import Parts, listed, numbered

Mask = NDArray[np.bool_]
Stretches: TypeAlias = tuple[int, NDArray[np.int32]]
"""The first number of several in a row, and the size of each."""

BETWEEN: Final = "\n"
"""Stands between two terms of a stock; no word has it within."""

STOCKED_AT_ONCE: Final = 2**13
"""Documents that find their places together: some megabytes on the way, whatever there is."""
_EMPTY: Final = np.empty(0, dtype=np.int32)


class Postings:
    """The documents that hold one term, ascending, each with its count; grows at the end.

    What was handed out stays as it was: growth writes beyond it.
    """

    __slots__ = ("_rows", "size")

    def __init__(self, documents: NDArray[Any] = _EMPTY, counts: NDArray[Any] = _EMPTY) -> None:
        """Start with a copy of what is given."""
        self.size = len(documents)
        self._rows: NDArray[np.int32] = np.empty((2, self.size), dtype=np.int32)
        self._rows[0], self._rows[1] = documents, counts

    def extend(self, pairs: list[int]) -> None:
        """Append *pairs*: a document and its count in turn, later than all before."""
        added = np.array(pairs, dtype=np.int32).reshape(-1, 2).T
        size = self.size + added.shape[1]
        if size > self._rows.shape[1]:
            room = np.empty((2, max(size, 2 * self.size)), dtype=np.int32)
            room[:, : self.size] = self._rows[:, : self.size]
            self._rows = room
        self._rows[:, self.size : size] = added
        self.size = size

    @property
    def rows(self) -> NDArray[np.int32]:
        """Documents that hold the term, ascending, and below them how often each does."""
        return self._rows[:, : self.size]

    def under(self, alive: Mask) -> tuple[Integers, Integers]:
        """Return the live documents and their counts."""
        documents, counts = self.rows
        within = int(documents.searchsorted(alive.size))
        documents, counts = documents[:within], counts[:within]
        kept = alive[documents]
        return documents[kept].astype(np.int64), counts[kept].astype(np.int64)


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

    def restocking(self) -> Restocking:
        """Return what takes in documents and makes a stock of them and of this one."""
        return Restocking(self, dict(self._place))

    def joined(
        self, place: dict[str, int], holders: list[int], rows: NDArray[np.int32], first: Stretches
    ) -> Stock:
        """Return a stock that holds new documents too.

        Args:
            place: All terms by number, those of this stock before the new ones.
            holders: How many documents hold each, new ones included.
            rows: Terms by number and how often each stands in a document, shape (incidences, 2);
                those of one document behind the other.
            first: Number of the first of these documents, and how many terms each has.
        """
        stock, old = Stock(), self.holders
        terms, counts = rows.T
        stock._place = place
        starts = stock._starts = _starts(np.array(holders, dtype=np.int32))
        most = max(counts.max(initial=0), self.counts.max(initial=0))
        stock.documents = zeros((int(starts[-1]),), np.int32)
        stock.counts = zeros((int(starts[-1]),), np.min_scalar_type(int(most)))
        at = _places(starts[: len(old)], old)
        stock.documents[at], stock.counts[at] = self.documents, self.counts
        number, sizes = first
        ends = np.zeros(len(sizes) + 1, dtype=np.int64)
        np.cumsum(sizes, out=ends[1:])
        free = starts[:-1].copy()
        free[: len(old)] += old
        for start in range(0, len(sizes), STOCKED_AT_ONCE):
            among = sizes[start : start + STOCKED_AT_ONCE]
            numbers = np.arange(start, start + len(among), dtype=np.int32) + np.int32(number)
            part = slice(ends[start], ends[start + len(among)])
            order = np.argsort(terms[part], kind="stable")
            holding = np.bincount(terms[part], minlength=len(free)).astype(np.int32)
            at = _places(free, holding)
            stock.documents[at] = np.repeat(numbers, among)[order]
            stock.counts[at] = counts[part][order]
            free += holding
        return stock


class Restocking:
    """Documents on their way into a stock."""

    def __init__(self, stock: Stock, place: dict[str, int]) -> None:
        """Start with what a stock holds.

        Args:
            stock: It stays as it is.
            place: Its terms by number; new ones are put behind them.
        """
        self._stock = stock
        self._place = place
        self._holders = listed(stock.holders)
        self._rows: NDArray[np.int32] = np.empty((0, 2), dtype=np.int32)
        """Terms of each document, one behind the other, and how often each stands in it; and room
        for more."""
        self._size = 0
        self._latest = array("i"), array("i")
        """The same of the documents behind these."""
        self._sizes = array("i")
        """How many different terms each document has."""

    def add(self, counts: Mapping[str, int]) -> list[int]:
        """Take in the next document and return how many before it hold each of its terms.

        Args:
            counts: How often each of its terms stands in it.
        """
        place, holders = self._place, self._holders
        numbers = [place.setdefault(term, len(place)) for term in counts]
        holders += [0] * (len(place) - len(holders))
        held = [holders[number] for number in numbers]
        for number in numbers:
            holders[number] += 1
        terms, times = self._latest
        terms.extend(numbers)
        times.extend(counts.values())
        self._sizes.append(len(numbers))
        if len(self._sizes) % STOCKED_AT_ONCE == 0:
            self._settle()
        return held

    def _settle(self) -> None:
        size = self._size + len(self._latest[0])
        if size > len(self._rows):
            larger = zeros((2 * size, 2), np.int32)
            larger[: self._size] = self._rows[: self._size]
            self._rows = larger
        for column, values in enumerate(self._latest):
            self._rows[self._size : size, column] = np.frombuffer(values, dtype=np.intc)
        self._size, self._latest = size, (array("i"), array("i"))

    def done(self, first: int) -> Stock:
        """Return the stock.

        Args:
            first: Number of the document that was added first.
        """
        self._settle()
        first_and_sizes = first, np.frombuffer(self._sizes, dtype=np.intc)
        rows = self._rows[: self._size]
        return self._stock.joined(self._place, self._holders, rows, first_and_sizes)


def _starts(sizes: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return where stretches of these *sizes* start, one behind the other, and where all end."""
    starts = np.zeros(len(sizes) + 1, dtype=np.int32)
    np.cumsum(sizes, out=starts[1:])
    return starts


def _places(starts: NDArray[np.int32], sizes: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the places of stretches that start at *starts*, stretch by stretch."""
    within = np.arange(sizes.sum(), dtype=np.int32) - np.repeat(_starts(sizes)[:-1], sizes)
    return within + np.repeat(starts, sizes)
