"""Look-ups in sorted arrays of numbers."""

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
