"""Ranges of a flat array, each the part that belongs to one owner."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def range_places(starts: NDArray[Any], sizes: NDArray[Any]) -> NDArray[Any]:
    """Return the places in ranges of *sizes* that begin at *starts*, one range after the other.

    They have the type of *starts*.
    """
    if not len(starts):
        return starts[:0]
    kind = starts.dtype
    ends = sizes.cumsum(dtype=kind)
    found: NDArray[Any] = np.arange(ends[-1], dtype=kind)
    found += (starts - ends + sizes).astype(kind, copy=False).repeat(sizes)
    return found
