"""Which blocks proved their worth and which did not, and when: what retention is made of.

The reviews of a block up to a version are a prefix of its list, and what they made of it is worked
out once per prefix, when somebody asks. A block whose reviews were put back, which is rare, is
worked out afresh each time.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mnemic.kernel import retention
from mnemic.kernel.retention import Memory, Review
from mnemic.projections.journals import Journal
from mnemic.projections.parts import Parts, nested, packed, unpacked, within

_NOTED: Mapping[str, type[np.generic]] = {
    "block": np.int32,
    "version": np.int32,
    "active_us": np.int64,
    "rating": np.int8,
}


class Reviews:
    """Reviews by block, in the order of the log."""

    def __init__(self) -> None:
        self._noted = Journal(**_NOTED)
        self._reviews: dict[int, list[Review]] = {}
        """Those of the blocks that were asked for."""
        self._memories: dict[int, list[Memory]] = {}
        """By block: what its first, its first two, ... reviews made of it, as far as asked."""
        self._put_back: dict[int, list[tuple[int, int]]] = {}
        """By block: versions, and the earlier one whose reviews stood again from each."""

    def frozen(self) -> Parts:
        """Return all reviews."""
        put_back = packed(list(self._put_back.items()))
        return {**nested(noted=self._noted.frozen()), "put_back": put_back}

    @classmethod
    def thawed(cls, parts: Mapping[str, NDArray[Any]]) -> Reviews:
        """Return the reviews that were frozen."""
        reviews = cls()
        reviews._noted = Journal.thawed(within(parts, "noted"), _NOTED)
        reviews._put_back = {
            block: [(since, then) for since, then in steps]
            for block, steps in unpacked(parts["put_back"])
        }
        return reviews

    def note(self, block: int, version: int, active_us: int, rating: int) -> None:
        """Remember that a block was reviewed at *version*."""
        self._noted.append((block, version, active_us, rating))
        if block in self._reviews:
            self._reviews[block].append(Review(version, active_us, rating))

    def put_back(self, block: int, version: int, then: int) -> None:
        """Let the reviews that counted at version *then* be those that count from *version* on."""
        self._put_back.setdefault(block, []).append((version, then))

    def of(self, block: int, version: int) -> list[Review]:
        """Return the reviews of a block that count at *version*."""
        found = self._all(block)
        for since, then in reversed(self._put_back.get(block, ())):
            if since <= version:
                return [*self.of(block, then), *found[_upto(found, since) : _upto(found, version)]]
        return found[: _upto(found, version)]

    def changes(self, block: int, version: int) -> list[int]:
        """Return the versions up to *version* at which what counts of a block changed."""
        reviewed = [review.version for review in self._all(block)]
        put_back = [since for since, _ in self._put_back.get(block, ())]
        return [since for since in (*reviewed, *put_back) if since <= version]

    def memory(self, block: int, version: int) -> Memory | None:
        """Return what the reviews of a block up to *version* made of it; None without any."""
        found = self._all(block)
        if not found:
            return None
        if block in self._put_back:
            return _made(self.of(block, version))
        # Most blocks have one review, and most questions are about now.
        count = len(found) if found[-1].version <= version else _upto(found, version)
        if not count:
            return None
        known = self._memories.setdefault(block, [])
        for review in found[len(known) : count]:
            known.append(_after(known[-1] if known else None, review))
        return known[count - 1]

    def _all(self, block: int) -> list[Review]:
        found = self._reviews.get(block)
        if found is None:
            found = self._reviews[block] = list(map(Review._make, self._noted.about(block)))
        return found


def _made(reviews: list[Review]) -> Memory | None:
    memory = None
    for review in reviews:
        memory = _after(memory, review)
    return memory


def _after(memory: Memory | None, review: Review) -> Memory:
    if memory is None:
        return retention.first(review.rating, review.active_us)
    return retention.reviewed(memory, review.rating, review.active_us)


def _upto(reviews: list[Review], version: int) -> int:
    return bisect_left(reviews, (version + 1,))
