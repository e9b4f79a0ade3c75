"""Typicality: how much a text is about what a memory is mostly about.

It is the mean cosine of a block's vector with those of the blocks promoted before it, the latest
``WINDOW`` of them. All texts of one conversation share its subject, and a vector that holds little
else is near to every question about it. So typicality is to a vector what frequency is to a word:
recall subtracts some of it.

It is fixed when a block is promoted, and recorded: computed again, it would depend on texts that
were erased since.

Source: docs/adr/0048; measured with benchmarks/retrieval.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from mnemic.kernel.model.vectors import SCALE, Vector, squared_norms
from mnemic.kernel.numeric.arithmetic import NANO, nano_each

WINDOW: Final = 512
"""How many vectors before it one is compared with, at most."""
USUAL: Final = 0.25
"""Typicality of a vector while there is nothing to compare it with."""
DOUBT: Final = 20
"""Number of vectors at which the computed mean counts half, and ``USUAL`` the other half."""
UNKNOWN: Final = -1
"""Recorded before release 0.5.0, which did not compute it; it counts as ``USUAL``."""


def typicalities(
    before: Sequence[Vector] | NDArray[np.int16], fresh: Sequence[Vector]
) -> list[int]:
    """Return the typicality of each of *fresh*.

    With the n vectors before it, of *before* and *fresh* together, at most ``WINDOW``:

        (sum of cosines + DOUBT * USUAL) / (n + DOUBT), at least 0

    where each of them counts as if it had the length ``SCALE``, as it has but for rounding.

    Args:
        before: Quantised vectors promoted earlier, the latest last; of more than ``WINDOW`` the
            first ones make no difference.
        fresh: Quantised vectors of the same dimension, in the order of their promotion.
    Returns:
        Nano-units in [0, NANO].
    """
    if not fresh:
        return []
    own = np.stack(fresh)
    known = min(len(before), WINDOW)
    rows = np.concatenate((before[len(before) - known :], own)) if known else own
    ends = np.arange(known, len(rows))
    starts = np.maximum(ends - WINDOW, 0)
    # The sum of each window: that of the first, then what enters and what leaves.
    sums = np.zeros(own.shape, dtype=np.int64)
    np.sum(rows[:known], axis=0, dtype=np.int32, out=sums[0])
    sums[1:] = own[:-1]
    leaving = starts[1:] > 0
    sums[1:][leaving] -= rows[starts[1:][leaving] - 1]
    np.cumsum(sums, axis=0, out=sums)
    products = np.vecdot(own.astype(np.int64), sums)
    lengths = np.sqrt(np.maximum(squared_norms(own), 1).astype(np.float64))
    cosines = products.astype(np.float64) / (lengths * SCALE)
    shares = (cosines + DOUBT * USUAL) / (ends - starts + DOUBT)
    found: list[int] = np.clip(nano_each(shares), 0, NANO).tolist()
    return found
