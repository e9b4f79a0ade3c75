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
from mnemic.projections.storage.sorted_arrays import run_starts


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

    def side_by_side(
        self, pairs: Sequence[tuple[str, str]], documents: Sequence[Integers]
    ) -> Integers:
        """Return the documents in which the second term of a pair follows directly on the first.

        Args:
            pairs: Pairs of terms.
            documents: For each pair the documents to look at.
        Returns:
            A document as often as there are pairs that it holds side by side.
        """
        sizes = [len(each) for each in documents]
        together = np.concatenate(documents)
        bounds = self._begins.values
        begins = bounds[together]
        lengths = bounds[together + 1] - begins
        terms = self._order.values[range_places(begins, lengths)]
        ends = lengths.cumsum()
        known = self._terms.known
        numbers = np.array([(known(one), known(other)) for one, other in pairs])
        first, second = numbers.repeat(sizes, axis=0).T
        places = (terms == first.repeat(lengths)).nonzero()[0]
        owner = ends.searchsorted(places, side="right")
        inside = places + 1 < ends[owner]
        places, owner = places[inside], owner[inside]
        owner = owner[terms[places + 1] == second[owner]]
        # The same pair may occur again in a document.
        found: Integers = together[owner[run_starts(owner)]]
        return found
