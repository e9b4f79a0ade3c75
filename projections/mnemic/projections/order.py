"""The one order of everything that is ranked: best first, and among equals by public id."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from mnemic.kernel.arithmetic import Integers


class Ids(Protocol):
    """Public ids by block ordinal; only the few that decide a tie are looked up."""

    def __getitem__(self, ordinal: int, /) -> str:
        """Return the id of the block with *ordinal*."""
        ...


def ranked(values: Integers, blocks: Integers, ids: Ids, *, k: int) -> Integers:
    """Return the positions of the *k* best, in the order (value descending, id ascending).

    Args:
        values: What is ranked.
        blocks: Ordinals, one per value.
        ids: Public ids by ordinal, looked up for equal values only.
        k: How many at most, >= 1.
    """
    positions = np.arange(len(values))
    if k < len(values):
        # Everything that reaches the k-th value stays in, since the order of a partition among
        # equals is anyone's guess; the ids then decide.
        kth = len(values) - k
        positions = np.flatnonzero(values >= np.partition(values, kth)[kth])
    positions = positions[np.argsort(-values[positions], kind="stable")]
    ordered = values[positions]
    tie = ordered[1:] == ordered[:-1]
    if tie.any():
        starts = np.flatnonzero(np.concatenate(((True,), ~tie)))
        lengths = np.diff(starts, append=len(ordered))
        for start in np.flatnonzero(lengths > 1).tolist():
            among = slice(int(starts[start]), int(starts[start] + lengths[start]))
            tied = positions[among].tolist()
            names = map(ids.__getitem__, blocks[positions[among]].tolist())
            positions[among] = [position for _, position in sorted(zip(names, tied, strict=True))]
    return positions[:k]
