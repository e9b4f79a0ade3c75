"""Ordering of all ranked results: best first, ties broken by public id."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from mnemic.kernel.numeric.arithmetic import Integers


class Ids(Protocol):
    """Public ids by block ordinal; only the few that decide a tie are looked up."""

    def __getitem__(self, ordinal: int, /) -> str:
        """Return the id of the block with *ordinal*."""
        ...


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
        kth = len(values) - k
        positions = np.flatnonzero(values >= np.partition(values, kth)[kth])
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
    if k < len(values):
        kth = len(values) - k
        least = max(least, int(np.partition(values, kth)[kth])) if k else int(values.max()) + 1
    positions = np.flatnonzero(values >= least)
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
    starts = np.flatnonzero(np.concatenate(((True,), ~tie)))
    lengths = np.diff(starts, append=len(positions))
    for start in np.flatnonzero(lengths > 1).tolist():
        among = slice(int(starts[start]), int(starts[start] + lengths[start]))
        tied = positions[among].tolist()
        names = map(ids.__getitem__, blocks[positions[among]].tolist())
        positions[among] = [position for _, position in sorted(zip(names, tied, strict=True))]
