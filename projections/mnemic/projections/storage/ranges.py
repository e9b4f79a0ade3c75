"""Ranges of a flat array, each the part that belongs to one owner."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def range_places(starts: NDArray[Any], sizes: NDArray[Any]) -> NDArray[Any]:
    """Return the places in ranges of *sizes* that begin at *starts*, one range after the other.

    They have the type of *starts*.
    """
    kind = starts.dtype
    shift = starts - (np.cumsum(sizes, dtype=kind) - sizes)
    found: NDArray[Any] = np.arange(int(sizes.sum()), dtype=kind) + np.repeat(shift, sizes)
    return found
