"""Ordering of all ranked results: best first, ties broken by public id."""

from __future__ import annotations

from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from mnemic.kernel.numeric.arithmetic import Integers


class Ids(Protocol):
    """Public ids by block ordinal; only the few that decide a tie are looked up."""

    def __getitem__(self, ordinal: int, /) -> str:
        """Return the id of the block with *ordinal*."""
        ...


FOLD: Final = 32
"""Number of values, at most, of which only the maximum is compared, see ``reached_by``."""


def reached_by(values: NDArray[Any], k: int) -> Any:
    """Return a bound that at least *k* of *values* reach, and probably few more.

    Each value that is compared is the maximum of some that are far apart: one pass over all of them
    takes a third of the time of a partition, and a tenth if most are equal.

    Args:
        values: Any numbers, at least one.
        k: From 1 to as many as there are values.
    """
    fold = min(FOLD, len(values) // (2 * k))
    if fold <= 1:
        return np.minimum.reduce(values)
    width = len(values) // fold
    greatest = np.maximum.reduce(values[: fold * width].reshape(fold, width))
    greatest.partition(width - k)
    return greatest[width - k]


def kth_greatest(values: Integers, k: int) -> int:
    """Return the *k*-th greatest of *values*, which are at least as many; k >= 1."""
    few = values[values >= reached_by(values, k)]
    kth = len(few) - k
    few.partition(kth)
    return int(few[kth])


def ranked(values: Integers, blocks: Integers, ids: Ids, *, k: int) -> Integers:
    """Return the positions of the *k* best, in the order (value descending, id ascending).

    Args:
        values: The values to rank.
        blocks: Ordinals, one per value.
        ids: Public ids by ordinal, looked up for equal values only.
        k: How many at most, >= 1.
    """
    positions = np.arange(len(values))
    if k < len(values):
        # All values equal to the k-th are kept, since the order of a partition among equals is
        # undefined; the ids then decide.
        positions = (values >= kth_greatest(values, k)).nonzero()[0]
    positions = positions[np.argsort(-values[positions], kind="stable")]
    ordered = values[positions]
    settle_ties(positions, ordered[1:] == ordered[:-1], blocks, ids)
    return positions[:k]


def best_of(values: Integers, blocks: Integers, ids: Ids, *, k: int) -> Integers:
    """Return the positions of the *k* best of the values above 0, in any order; ties by id.

    Args:
        values: The values.
        blocks: Ordinals, one per value.
        ids: Public ids by ordinal, looked up only to decide between values equal to the k-th.
        k: How many at most, >= 0.
    """
    least = 1
    positions: Integers
    if 0 < k < len(values):
        positions = (values >= max(least, reached_by(values, k))).nonzero()[0]
        reaching = values[positions]
        kth = len(positions) - k
        if kth > 0:
            least = max(least, int(np.partition(reaching, kth)[kth]))
            positions = positions[reaching >= least]
    else:
        positions = (values > 0).nonzero()[0] if k else values[:0]
    beyond = len(positions) - k
    if beyond <= 0:
        return positions
    is_tied = values[positions] == least
    tied = positions[is_tied]
    names = map(ids.__getitem__, blocks[tied].tolist())
    by_id = [place for _, place in sorted(zip(names, tied.tolist(), strict=True))]
    kept = np.array(by_id[: len(by_id) - beyond], dtype=np.int64)
    return np.concatenate((positions[~is_tied], kept))


def ranked_within(
    groups: Integers, values: Integers, blocks: Integers, ids: Ids, *, k: int
) -> Integers:
    """Return the positions of the *k* best of each group, group by group, in the order of `ranked`.

    Args:
        groups: The group of each value, >= 0.
        values: The values to rank.
        blocks: Ordinals, one per value.
        ids: Public ids by ordinal, looked up for equal values only.
        k: How many of a group at most, >= 1.
    """
    positions: Integers = np.lexsort((-values, groups))
    group, ordered = groups[positions], values[positions]
    first = np.searchsorted(group, group)
    # The k-th of the group, or its last one.
    kth = np.minimum(first + k, np.searchsorted(group, group, side="right")) - 1
    reach = ordered >= ordered[kth]
    positions, group, ordered = positions[reach], group[reach], ordered[reach]
    tie = (group[1:] == group[:-1]) & (ordered[1:] == ordered[:-1])
    settle_ties(positions, tie, blocks, ids)
    best: Integers = positions[np.arange(len(group)) - np.searchsorted(group, group) < k]
    return best


def settle_ties(positions: Integers, tie: NDArray[np.bool_], blocks: Integers, ids: Ids) -> None:
    """Sort runs of *positions* with equal values by id; *tie* marks those equal to the previous."""
    if not tie.any():
        return
    starts = np.concatenate(((True,), ~tie)).nonzero()[0]
    lengths = np.diff(starts, append=len(positions))
    for start in (lengths > 1).nonzero()[0].tolist():
        among = slice(int(starts[start]), int(starts[start] + lengths[start]))
        tied = positions[among].tolist()
        names = map(ids.__getitem__, blocks[positions[among]].tolist())
        positions[among] = [position for _, position in sorted(zip(names, tied, strict=True))]
