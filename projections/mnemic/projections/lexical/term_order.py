"""The terms of every text in order, for finding neighbouring terms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mnemic.kernel.numeric.arithmetic import Integers
from mnemic.projections.storage.array_bundle import ArrayBundle, packed, unpacked
from mnemic.projections.storage.columns import Interner
from mnemic.projections.storage.growable_array import GrowableArray
from mnemic.projections.storage.ranges import range_places


class TermOrder:
    """The terms of documents, by number; append-only."""

    def __init__(self) -> None:
        """Start empty."""
        self._terms = Interner()
        self._order = GrowableArray(np.int32)
        """The terms of the first document, then those of the second, and so on."""
        self._begins = GrowableArray(np.int64)
        """Where the terms of each document begin, and behind the last one."""
        self._begins.append(0)

    def frozen(self) -> ArrayBundle:
        """Return everything as arrays."""
        return {
            "terms": packed(self._terms.words),
            "order": self._order.values,
            "begins": self._begins.values,
        }

    @classmethod
    def thawed(cls, parts: Mapping[str, NDArray[Any]]) -> TermOrder:
        """Return what was frozen."""
        found = cls()
        found._terms = Interner.thawed(unpacked(parts["terms"]))
        found._order = GrowableArray.thawed(parts["order"])
        found._begins = GrowableArray.thawed(parts["begins"])
        return found

    def append(self, terms: Sequence[str]) -> None:
        """Append a document with these terms, in their order."""
        self._order.extend(list(map(self._terms.number, terms)))
        self._begins.append(len(self._order))

    def side_by_side(self, first: str, second: str, documents: Integers) -> Integers:
        """Return those of *documents*, ascending, in which *second* follows directly on *first*."""
        wanted = self._terms.known(first), self._terms.known(second)
        if -1 in wanted or not len(documents):
            return documents[:0]
        begins = self._begins.values[documents]
        sizes = self._begins.values[documents + 1] - begins
        ends = np.cumsum(sizes)
        terms = self._order.values[range_places(begins, sizes)]
        at = np.flatnonzero((terms[:-1] == wanted[0]) & (terms[1:] == wanted[1]))
        owner = np.searchsorted(ends, at, side="right")
        places: Integers = np.unique(owner[at + 1 < ends[owner]])
        return documents[places]
