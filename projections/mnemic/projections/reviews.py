"""Which blocks proved their worth and which did not, and when: what retention is made of.

A review is never taken back, so the reviews of a block up to a version are a prefix of its list,
and what they made of it is worked out once per prefix, when somebody asks.
"""

from __future__ import annotations

from bisect import bisect_left

from mnemic.kernel import retention
from mnemic.kernel.retention import Memory, Review


class Reviews:
    """Reviews by block, in the order of the log."""

    def __init__(self) -> None:
        self._reviews: dict[int, list[Review]] = {}
        self._memories: dict[int, list[Memory]] = {}
        """By block: what its first, its first two, ... reviews made of it, as far as asked."""

    def note(self, block: int, version: int, active_us: int, rating: int) -> None:
        """Remember that a block was reviewed at *version*."""
        review = Review(version, active_us, rating)
        if block in self._reviews:
            self._reviews[block].append(review)
        else:
            self._reviews[block] = [review]

    def of(self, block: int, version: int) -> list[Review]:
        """Return the reviews of a block up to *version*."""
        found = self._reviews.get(block, [])
        return found[: _upto(found, version)]

    def memory(self, block: int, version: int) -> Memory | None:
        """Return what the reviews of a block up to *version* made of it; None without any."""
        found = self._reviews.get(block)
        if not found:
            return None
        # Most blocks have one review, and most questions are about now.
        count = len(found) if found[-1].version <= version else _upto(found, version)
        if not count:
            return None
        known = self._memories.setdefault(block, [])
        for review in found[len(known) : count]:
            known.append(
                retention.reviewed(known[-1], review.rating, review.active_us)
                if known
                else retention.first(review.rating, review.active_us)
            )
        return known[count - 1]


def _upto(reviews: list[Review], version: int) -> int:
    return bisect_left(reviews, (version + 1,))
