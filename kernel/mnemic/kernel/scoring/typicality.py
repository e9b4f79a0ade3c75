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


def typicalities(before: Sequence[Vector], fresh: Sequence[Vector]) -> list[int]:
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
    rows = np.stack([*before[-WINDOW:], *fresh])
    sums = np.zeros((len(rows) + 1, rows.shape[1]), dtype=np.int64)
    np.cumsum(rows, axis=0, dtype=np.int64, out=sums[1:])
    ends = np.arange(len(rows) - len(fresh), len(rows))
    starts = np.maximum(ends - WINDOW, 0)
    own = rows[ends]
    products = np.vecdot(own.astype(np.int64), sums[ends] - sums[starts])
    lengths = np.sqrt(np.maximum(squared_norms(own), 1).astype(np.float64))
    cosines = products.astype(np.float64) / (lengths * SCALE)
    shares = (cosines + DOUBT * USUAL) / (ends - starts + DOUBT)
    found: list[int] = np.clip(nano_each(shares), 0, NANO).tolist()
    return found
