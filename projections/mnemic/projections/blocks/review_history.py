"""Review history: positive and negative reviews of blocks, from which retention is computed.

The reviews of a block up to a version are a prefix of its list. The memory states after all of them
that a query needed for many blocks are kept as numbers in columns: hundreds of thousands of objects
would be traversed by the garbage collector, while every thread waits. The state after a shorter
prefix is computed each time.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from attrs import field, frozen
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
from mnemic.projections.storage.growable_array import FIRST_CAPACITY, grown

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
        self._changed: Integers = np.full(FIRST_CAPACITY, -1, dtype=np.int64)
        """By block: the version at which its reviews changed last; -1 without any."""
        self._cached = _Cached()
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
        blocks, versions = (reviews._noted.column(name) for name in ("block", "version"))
        reviews._change_each(blocks.astype(np.int64), versions)
        for block, steps in reviews._put_back.items():
            reviews._changed[block] = max(int(reviews._changed[block]), steps[-1][0])
        return reviews

    def note(self, block: int, version: int, active_us: int, rating: int) -> None:
        """Record that a block was reviewed at *version*."""
        self._noted.append((block, version, active_us, rating))
        self._change(block, version)

    def note_each(self, reviews: NDArray[np.int64]) -> None:
        """Do ``note`` many times.

        Args:
            reviews: Blocks, versions, active times and ratings, shape (4, reviews).
        """
        self._noted.extend(reviews)
        self._change_each(reviews[0], reviews[1])

    def put_back(self, block: int, version: int, then: int) -> None:
        """Restore, from *version* on, the reviews that counted at version *then*."""
        self._put_back.setdefault(block, []).append((version, then))
        self._change(block, version)

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
        return _made(self.of(block, version))

    def stabilities(self, blocks: Integers, version: int) -> tuple[Floats, Integers]:
        """Return the stability of the memory of each block, and when it was last reviewed.

        Args:
            blocks: By number.
            version: As for ``memory``.
        Returns:
            Days, 0 where there is no memory; and active microseconds.
        """
        cached = self._cached
        changed, after = _each(self._changed, blocks, -1), _each(cached.after, blocks, -1)
        stability = _each(cached.stability, blocks, 0)
        reviewed_us = _each(cached.reviewed_us, blocks, 0)
        past = changed > version
        missing = np.flatnonzero(past | (after != changed))
        for place in missing.tolist():
            upto = version if past[place] else int(changed[place])
            memory = self.memory(int(blocks[place]), upto)
            stability[place] = 0.0 if memory is None else memory.stability
            reviewed_us[place] = 0 if memory is None else memory.reviewed_us
        fresh = missing[~past[missing]]
        if len(fresh):
            values = changed[fresh], stability[fresh], reviewed_us[fresh]
            self._cached = cached.extended(blocks[fresh], *values)
        return stability, reviewed_us

    def _all(self, block: int) -> list[Review]:
        return list(map(Review._make, self._noted.about(block)))

    def _change(self, block: int, version: int) -> None:
        """Note that the reviews of a block changed."""
        if block >= len(self._changed):
            self._changed = grown(self._changed, block + 1, fill=-1)
        self._changed[block] = version

    def _change_each(self, blocks: Integers, versions: Integers) -> None:
        """Do ``_change`` many times."""
        self._changed = grown(self._changed, int(blocks.max(initial=-1)) + 1, fill=-1)
        self._changed[blocks] = versions


@frozen(eq=False)
class _Cached:
    """Memory states after all reviews, for the blocks that were queried; one value per block."""

    after: Integers = field(factory=partial(np.zeros, 0, np.int64))
    """The version at which its reviews had changed last; -1 where nothing is stored."""
    stability: Floats = field(factory=partial(np.zeros, 0))
    reviewed_us: Integers = field(factory=partial(np.zeros, 0, np.int64))

    def extended(
        self, blocks: Integers, after: Integers, stability: Floats, reviewed_us: Integers
    ) -> _Cached:
        """Return a copy with the values of more blocks."""
        count = max(len(self.after), int(blocks.max()) + 1)
        wider = _Cached(np.full(count, -1), np.zeros(count), np.zeros(count, np.int64))
        for column, old, fresh in (
            (wider.after, self.after, after),
            (wider.stability, self.stability, stability),
            (wider.reviewed_us, self.reviewed_us, reviewed_us),
        ):
            column[: len(old)] = old
            column[blocks] = fresh
        return wider


def _each(column: NDArray[Any], blocks: Integers, default: int) -> NDArray[Any]:
    """Return a copy of the values of *blocks*, *default* for those beyond the end."""
    found = np.full(len(blocks), default, dtype=column.dtype)
    known = np.flatnonzero(blocks < len(column))
    found[known] = column[blocks[known]]
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
