"""Numbers in the order of their first use, after some uses were removed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def in_first_use(
    column: NDArray[Any], size: int, *, fixed: int = 0
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return the numbers that *column* uses, in the order of first use, and it renumbered so.

    Args:
        column: Numbers below *size*; negative ones stand for none and stay.
        size: How many numbers there are.
        fixed: How many numbers keep their place at the beginning, whether used or not.
    """
    column = np.asarray(column)
    first = np.full(size + 1, len(column), dtype=np.int64)
    first[column[::-1]] = np.arange(len(column) - 1, -1, -1)  # the earliest is written last
    first[:fixed] = np.arange(-fixed, 0)
    order = np.argsort(first[:size], kind="stable")[: np.count_nonzero(first[:size] < len(column))]
    if len(order) == size and np.array_equal(order, np.arange(size)):
        return order, column
    renumbered = np.full(size + 1, -1, dtype=column.dtype)
    renumbered[order] = np.arange(len(order))
    return order, renumbered[column]
