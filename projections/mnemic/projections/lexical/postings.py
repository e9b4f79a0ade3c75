"""Postings: the documents that hold a term, with counts; growing ones, and an immutable stock.

A term is looked up in the growing ones first. Its postings in the stock are copied there on the
first look-up, so that nothing is ever written into the stock: it may be read-only, and it may be
a mapped file. Many documents added at once become a new stock: an object with spare capacity for
each term would take several times as much memory.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mnemic.kernel.numeric.arithmetic import Integers
from mnemic.projections.storage.array_bundle import ArrayBundle, listed, numbered
from mnemic.projections.storage.mapped_arrays import zeros
from mnemic.projections.storage.ranges import range_places
from mnemic.projections.storage.sorted_arrays import run_starts

Mask = NDArray[np.bool_]
Sizes: TypeAlias = tuple[int, NDArray[np.int32]]
"""The number of the first of several consecutive documents, and the size of each."""

BETWEEN: Final = "\n"
"""Separator of the terms of a stock; no term contains it."""

STOCKED_AT_ONCE: Final = 2**13
"""Number of documents sorted together: limits temporary memory to some megabytes."""
_EMPTY: Final = np.empty(0, dtype=np.int32)


class Postings:
    """The documents that hold one term, ascending, each with its count; append-only.

    Arrays that were handed out keep their contents: growth writes beyond them.
    """

    __slots__ = ("_rows", "size")

    def __init__(self, documents: NDArray[Any] = _EMPTY, counts: NDArray[Any] = _EMPTY) -> None:
        """Start with a copy of what is given."""
        self.size = len(documents)
        self._rows: NDArray[np.int32] = np.empty((2, self.size), dtype=np.int32)
        self._rows[0], self._rows[1] = documents, counts

    def extend(self, pairs: list[int]) -> None:
        """Append *pairs*: documents and counts, alternating, later than all before."""
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
        """Documents that hold the term, ascending, and in the second row how often each does."""
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


def any_of(found: Sequence[Postings], alive: Mask) -> tuple[Integers, Integers]:
    """Return the live documents of any of *found*, ascending, and their greatest counts."""
    known = [each for each in found if each is not NONE]
    if len(known) <= 1:
        return (known[0] if known else NONE).under(alive)
    each = [postings.under(alive) for postings in known]
    documents = np.concatenate([held for held, _ in each])
    counts = np.concatenate([times for _, times in each])
    if not len(documents):
        return documents, counts
    order = np.argsort(documents, kind="stable")
    documents, counts = documents[order], counts[order]
    starts = run_starts(documents)
    return documents[starts], np.maximum.reduceat(counts, starts)


class Stock:
    """Postings of many terms, concatenated: built at once and never changed."""

    def __init__(self) -> None:
        """Start empty."""
        self._place: dict[str, int] = {}
        self._starts: NDArray[np.int32] = np.zeros(1, dtype=np.int32)
        self.documents: NDArray[np.int32] = np.empty(0, dtype=np.int32)
        """Documents that hold the first term, then those that hold the second, and so on."""
        self.counts: NDArray[Any] = np.empty(0, dtype=np.int32)
        """The term count of each of them."""

    def frozen(self) -> ArrayBundle:
        """Return it as arrays."""
        # Few texts repeat a word more than 255 times: the smallest type that holds all counts takes
        # a quarter of the space.
        least = np.min_scalar_type(int(self.counts.max(initial=0)))
        return {
            "terms": np.frombuffer(BETWEEN.join(self._place).encode(), dtype=np.uint8),
            "starts": self._starts,
            "documents": self.documents,
            "counts": self.counts.astype(least, copy=False),
        }

    @classmethod
    def thawed(cls, parts: Mapping[str, NDArray[Any]]) -> Stock:
        """Return the stock that was frozen."""
        stock = cls()
        stock._starts = parts["starts"]
        count = len(stock._starts) - 1
        terms = parts["terms"].tobytes().decode().split(BETWEEN)
        stock._place = numbered(terms[:count])
        stock.documents, stock.counts = parts["documents"], parts["counts"]
        return stock

    @property
    def holders(self) -> NDArray[np.int32]:
        """Number of documents that hold each term, in the order of first use."""
        return np.diff(self._starts)

    @property
    def terms(self) -> Iterable[str]:
        """All terms, in the order of first use."""
        return self._place

    def __contains__(self, term: str) -> bool:
        return term in self._place

    def of(self, term: str) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the documents that hold *term*, which must be in the stock, and their counts."""
        place = self._place[term]
        among = slice(int(self._starts[place]), int(self._starts[place + 1]))
        return self.documents[among], self.counts[among]

    def grown(self, postings: Mapping[str, Postings]) -> Stock:
        """Return a stock that also holds *postings*, which replace its own of the same terms.

        Args:
            postings: Each holds at least what this stock does; new terms in the order of first use.
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
        at = range_places(starts[: len(self._place)], self.holders)
        stock.documents[at], stock.counts[at] = self.documents, self.counts
        rows = [NONE.rows, *(each.rows for each in postings.values())]
        at = range_places(starts[places], sizes)
        stock.documents[at], stock.counts[at] = np.concatenate(rows, axis=1)
        return stock

    def restocking(self) -> Restocking:
        """Return a builder that adds documents to the content of this stock."""
        return Restocking(self, dict(self._place))

    def joined(
        self, place: dict[str, int], holders: list[int], rows: NDArray[np.int32], first: Sizes
    ) -> Stock:
        """Return a stock that also holds new documents.

        Args:
            place: All terms by number, those of this stock before the new ones.
            holders: How many documents hold each, new ones included.
            rows: Terms by number and their counts in a document, shape (incidences, 2),
                concatenated document by document.
            first: Number of the first of these documents, and how many terms each has.
        """
        stock, old = Stock(), self.holders
        terms, counts = rows.T
        stock._place = place
        starts = stock._starts = _starts(np.array(holders, dtype=np.int32))
        most = max(counts.max(initial=0), self.counts.max(initial=0))
        stock.documents = zeros((int(starts[-1]),), np.int32)
        stock.counts = zeros((int(starts[-1]),), np.min_scalar_type(int(most)))
        at = range_places(starts[: len(old)], old)
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
            at = range_places(free, holding)
            stock.documents[at] = np.repeat(numbers, among)[order]
            stock.counts[at] = counts[part][order]
            free += holding
        return stock


class Restocking:
    """Builder of a stock from added documents."""

    def __init__(self, stock: Stock, place: dict[str, int]) -> None:
        """Start with the content of a stock.

        Args:
            stock: The stock, which is not modified.
            place: Its terms by number; new ones are appended.
        """
        self._stock = stock
        self._place = place
        self._holders = listed(stock.holders)
        self._rows: NDArray[np.int32] = np.empty((0, 2), dtype=np.int32)
        """Terms of each document, concatenated, and how often each occurs in it; and spare
        capacity."""
        self._size = 0
        self._latest = array("i"), array("i")
        """The same for the documents after these."""
        self._sizes = array("i")
        """The number of distinct terms of each document."""

    def add(self, counts: Mapping[str, int]) -> list[int]:
        """Add the next document and return how many before it hold each of its terms.

        Args:
            counts: How often each of its terms occurs in it.
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
    """Return the start of consecutive runs of these *sizes*, and the end of the last."""
    starts = np.zeros(len(sizes) + 1, dtype=np.int32)
    np.cumsum(sizes, out=starts[1:])
    return starts
