"""Rarity of ties: a property shared by few pairs is more informative than a common one.

A shared word, a shared tag and a near meaning cannot be added up directly: in one space a rare
word ties a handful of pairs, in another every second one. So a tie counts by how few of all pairs
are tied as strongly by its kind:

    surprise = (ln((P + 1) / rank) / ln(P + 1))³

where P is how many pairs the blocks could form and the rank is how many are tied at least as
strongly, this one included. The strongest tie of a kind reaches 1; a tie of every pair is nearly 0.
The third power keeps several middling ties from outweighing one that is rare.

Source: specs/frontier.toml, rule "surprise".
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mnemic.kernel.numeric.arithmetic import (
    NANO,
    ln,
    ln_each,
    nano_each,
)

Ints = NDArray[np.int64]


def surprises(strengths: Ints, possible: int) -> Ints:
    """Return the rarity of each tie of one kind.

    Args:
        strengths: Of all candidate pairs, in any unit; 0 where the kind does not tie them.
        possible: Pairs that the given blocks could form, at least as many as are tied.

    Returns:
        Nano-units in [0, NANO].
    """
    found = np.zeros(len(strengths), dtype=np.int64)
    tied = np.flatnonzero(strengths > 0)
    if len(tied):
        given = strengths[tied]
        ranks = len(given) - np.searchsorted(np.sort(given), given)
        odds = ln_each((possible + 1) / ranks.astype(np.float64)) / ln(possible + 1.0)
        found[tied] = nano_each(odds * odds * odds)
    return found


def mutual_ranks(low: Ints, high: Ints, closeness: Ints) -> Ints:
    """Return the rank of each pair by closeness among all pairs with either end.

    Args:
        low: One end.
        high: The other.
        closeness: Closeness of the ends. Range: [0, NANO].

    Returns:
        1 where each is the nearest of the other; else the worse of both ranks, equals sharing the
        last of theirs.
    """
    width = NANO + 1
    keys = [end * width + (NANO - closeness) for end in (low, high)]
    ordered = np.sort(np.concatenate(keys))
    ranks = [
        np.searchsorted(ordered, key, side="right") - np.searchsorted(ordered, end * width)
        for key, end in zip(keys, (low, high), strict=True)
    ]
    worse: Ints = np.maximum(*ranks)
    return worse
