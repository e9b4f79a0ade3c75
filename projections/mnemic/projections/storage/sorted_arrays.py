"""Sorted arrays of numbers: look-ups, and the distinct values of an array."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def places(rising: NDArray[Any], wanted: NDArray[Any]) -> NDArray[np.int64]:
    """Return the index of each of *wanted* in the sorted, distinct *rising*; -1 if absent."""
    if not len(rising):
        return np.full(len(wanted), -1, dtype=np.int64)
    found = rising[:-1].searchsorted(wanted)
    return np.where(rising[found] == wanted, found, -1)


def among(rising: NDArray[Any], wanted: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which of *wanted* are in the sorted, distinct *rising*: without a mask of all."""
    if not len(rising):
        return np.zeros(wanted.shape, dtype=np.bool_)
    found: NDArray[np.bool_] = rising[rising[:-1].searchsorted(wanted)] == wanted
    return found


def run_starts(values: NDArray[Any]) -> NDArray[np.int64]:
    """Return where each run of equal *values* starts."""
    is_first = np.empty(len(values), dtype=np.bool_)
    is_first[:1] = True
    np.not_equal(values[1:], values[:-1], out=is_first[1:])
    return is_first.nonzero()[0]


def distinct(values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the distinct *values*, ascending, and the index of the first of each.

    As ``np.unique`` does, whose first call imports ``numpy.ma``: longer work than a small recall.
    """
    order = values.argsort(kind="stable")
    ordered = values[order]
    starts = run_starts(ordered)
    return ordered[starts], order[starts]
