"""Review history: positive and negative reviews of blocks, from which retention is computed.

The reviews of a block up to a version are a prefix of its list. The memory state after all of them
is computed once, on first use, and kept as numbers in columns: hundreds of thousands of objects
would be traversed by the garbage collector, while every thread waits. The state after a shorter
prefix, and of a block whose reviews were reverted, which is rare, is computed each time.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mnemic.kernel.numeric import retention
from mnemic.kernel.numeric.arithmetic import Floats, Integers
from mnemic.kernel.numeric.retention import Memory, Review
from mnemic.projections.storage.array_bundle import (
    ArrayBundle,
    nested,
    packed,
    unpacked,
    within,
)
from mnemic.projections.storage.event_columns import EventColumns

_NOTED: Mapping[str, type[np.generic]] = {
    "block": np.int32,
    "version": np.int32,
    "active_us": np.int64,
    "rating": np.int8,
}


class ReviewHistory:
    """Reviews by block, in the order of the log."""

    def __init__(self) -> None:
        self._noted = EventColumns(**_NOTED)
        self._made = Made()
        """Memory states after all reviews, for the blocks that were queried."""
        self._put_back: dict[int, list[tuple[int, int]]] = {}
        """By block: versions, and the earlier version whose reviews were restored by each."""

    def frozen(self) -> ArrayBundle:
        """Return all reviews."""
        put_back = packed(list(self._put_back.items()))
        return {**nested(noted=self._noted.frozen()), "put_back": put_back}

    @classmethod
    def thawed(cls, parts: Mapping[str, NDArray[Any]]) -> ReviewHistory:
        """Return the reviews that were frozen."""
        reviews = cls()
        reviews._noted = EventColumns.thawed(within(parts, "noted"), _NOTED)
        reviews._put_back = {
            block: [(since, then) for since, then in steps]
            for block, steps in unpacked(parts["put_back"])
        }
        return reviews

    def note(self, block: int, version: int, active_us: int, rating: int) -> None:
        """Record that a block was reviewed at *version*."""
        self._noted.append((block, version, active_us, rating))
        self._made.forget(block)

    def note_each(self, reviews: NDArray[np.int64]) -> None:
        """Do ``note`` many times.

        Args:
            reviews: Blocks, versions, active times and ratings, shape (4, reviews).
        """
        self._noted.extend(reviews)
        for block in np.unique(reviews[0]).tolist():
            self._made.forget(block)

    def put_back(self, block: int, version: int, then: int) -> None:
        """Restore, from *version* on, the reviews that counted at version *then*."""
        self._put_back.setdefault(block, []).append((version, then))
        self._made.forget(block)

    def of(self, block: int, version: int) -> list[Review]:
        """Return the reviews of a block that count at *version*."""
        found = self._all(block)
        for since, then in reversed(self._put_back.get(block, ())):
            if since <= version:
                return [*self.of(block, then), *found[_upto(found, since) : _upto(found, version)]]
        return found[: _upto(found, version)]

    def changes(self, block: int, version: int) -> list[int]:
        """Return the versions up to *version* at which the reviews of a block changed."""
        reviewed = [review.version for review in self._all(block)]
        put_back = [since for since, _ in self._put_back.get(block, ())]
        return [since for since in (*reviewed, *put_back) if since <= version]

    def memory(self, block: int, version: int) -> Memory | None:
        """Return a block's memory state after its reviews up to *version*; None without any."""
        if 0 <= self._made.since(block) <= version:
            return self._made.of(block)
        found = self._all(block)
        if not found or block in self._put_back:
            return _made(self.of(block, version))
        if found[-1].version > version:
            return _made(found[: _upto(found, version)])
        memory = _made(found)
        assert memory is not None  # noqa: S101 - there are reviews
        self._made.keep(block, found[-1].version, memory)
        return memory

    def stabilities(self, blocks: Integers, version: int) -> tuple[Floats, Integers]:
        """Return the stability of the memory of each block, and when it was last reviewed.

        Args:
            blocks: By number.
            version: As for ``memory``.
        Returns:
            Days, 0 where there is no memory; and active microseconds.
        """
        stability, reviewed_us = self._made.columns(blocks)
        since = self._made.each_since(blocks)
        for place in np.flatnonzero((since < 0) | (since > version)).tolist():
            memory = self.memory(int(blocks[place]), version)
            stability[place] = 0.0 if memory is None else memory.stability
            reviewed_us[place] = 0 if memory is None else memory.reviewed_us
        return stability, reviewed_us

    def _all(self, block: int) -> list[Review]:
        return list(map(Review._make, self._noted.about(block)))


class Made:
    """Memory states by block, as columns of numbers."""

    def __init__(self) -> None:
        """Start empty."""
        self._since = array("i")
        """Version of the last review; -1 where nothing is stored."""
        self._stability, self._difficulty = array("d"), array("d")
        self._reps, self._lapses, self._reviewed_us = array("i"), array("i"), array("q")

    def since(self, block: int) -> int:
        """Return the version of the last review of a block that is stored, or -1."""
        return self._since[block] if block < len(self._since) else -1

    def forget(self, block: int) -> None:
        """Remove the entry of a block."""
        if block < len(self._since):
            self._since[block] = -1

    def keep(self, block: int, since: int, memory: Memory) -> None:
        """Store the memory state after all reviews of a block, the last one at version *since*."""
        fresh = block + 1 - len(self._since)
        if fresh > 0:
            self._since.extend([-1] * fresh)
            for column in (self._stability, self._difficulty):
                column.extend([0.0] * fresh)
            for numbers in (self._reps, self._lapses, self._reviewed_us):
                numbers.extend([0] * fresh)
        self._since[block] = since
        self._stability[block], self._difficulty[block] = memory.stability, memory.difficulty
        self._reps[block], self._lapses[block] = memory.reps, memory.lapses
        self._reviewed_us[block] = memory.reviewed_us

    def of(self, block: int) -> Memory:
        """Return the stored memory state of a block."""
        return Memory(
            stability=self._stability[block],
            difficulty=self._difficulty[block],
            reps=self._reps[block],
            lapses=self._lapses[block],
            reviewed_us=self._reviewed_us[block],
        )

    def each_since(self, blocks: Integers) -> Integers:
        """Return ``since`` of each block."""
        return _each(self._since, blocks, -1).astype(np.int64)

    def columns(self, blocks: Integers) -> tuple[Floats, Integers]:
        """Return stability and last review of each block; undefined where nothing is stored."""
        return _each(self._stability, blocks, 0), _each(self._reviewed_us, blocks, 0)


def _each(column: array[Any], blocks: Integers, default: int) -> NDArray[Any]:
    """Return the values of *blocks*, *default* for those beyond the end."""
    values = np.array([default], dtype=column.typecode)
    values = np.concatenate((np.array(column, dtype=column.typecode), values))
    return values[np.minimum(blocks, len(column))]


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
